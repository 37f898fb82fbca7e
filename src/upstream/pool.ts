import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Capabilities } from '../mcp/capabilities.ts'
import type { OpenRequest } from './opening.ts'
import { createReaper } from './reaper.ts'
import type { Headers, Session } from './session.ts'

export interface Want {
  /** Authorization context and capabilities: what sessions may be shared by. */
  readonly key: string
  readonly principal: string
  readonly capabilities: Capabilities
  readonly credentials: Headers
  /** The session serves this exchange alone and is closed after it. */
  readonly once: boolean
}

/** Use of a session by one exchange; given back exactly once. */
export interface Lease {
  readonly session: Session
  /** Nobody else has a call on it. */
  readonly exclusive: boolean
  /** Its exchange waits for a person, or no longer does. */
  suspended(yes: boolean): void
  /** To the pool if clean; otherwise an exclusive session is closed (design §4.4). */
  release(clean: boolean): void
}

export interface PoolLimits {
  readonly max: number
  readonly maxPerPrincipal: number
  readonly maxOpening: number
  readonly waitMs: number
  readonly idleTtlMs: number
  /** One session per key, one interruptible call at a time. */
  readonly pinned: boolean
}

export interface PoolOptions {
  readonly limits: PoolLimits
  readonly clock: Clock
  readonly open: (request: OpenRequest) => Promise<Session>
  /** Only one lease at a time over all keys, since the upstream sends its questions to everybody. */
  readonly oneAtATime: () => boolean
}

export interface PoolCounts {
  readonly idle: number
  readonly leased: number
  readonly shared: number
  readonly opening: number
  readonly closing: number
}

export interface Entry {
  readonly session: Session
  readonly room: Room
  readonly principal: string
  /** Order of opening. */
  readonly serial: number
  readonly once: boolean
  readonly leases: Set<{ suspended: boolean }>
  /** Calls that share it and cannot be asked. */
  guests: number
  idleSinceMs: number
}

interface Waiter {
  readonly want: Want
  readonly resolve: (lease: Lease) => void
  readonly reject: (error: unknown) => void
  readonly stop: () => void
}

interface Room {
  readonly key: string
  readonly entries: Set<Entry>
  readonly waiters: Waiter[]
  opening: number
  /** The session of calls that cannot be asked, or its opening. */
  shared: Promise<Entry> | undefined
}

/**
 * The sessions of one route, by key (design §4.5). An idle session is leased again, the one opened first; else
 * one is opened while the limits allow, and whoever waits takes what comes first. Nobody ever waits for a
 * session whose exchange waits for a person.
 */
export function createPool({ limits, clock, open, oneAtATime }: PoolOptions) {
  const rooms = new Map<string, Room>()
  const entries = new Set<Entry>()
  const closing = new Set<Promise<void>>()
  const openings = new Set<Promise<unknown>>()
  const reaper = createReaper(clock, limits.idleTtlMs, entries, close)
  let opening = 0
  let serial = 0
  let closed = false

  function roomOf(key: string): Room {
    let room = rooms.get(key)
    if (room === undefined) {
      room = { key, entries: new Set(), waiters: [], opening: 0, shared: undefined }
      rooms.set(key, room)
    }
    return room
  }

  /** Leases a session for an exchange that may be asked. @throws GatewayError, UpstreamRefusal */
  function lease(want: Want, signal: AbortSignal): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const room = roomOf(want.key)
      const wait = (): (() => void) =>
        clock.after(limits.waitMs, () => {
          if (room.opening > 0) stop = wait()
          else leaveQueue(room, waiter, overloaded('no session became free in time'))
        })
      let stop = wait()
      const left = (): void => leaveQueue(room, waiter, new Error('the client left'))
      const waiter: Waiter = {
        want,
        resolve,
        reject,
        stop() {
          stop()
          signal.removeEventListener('abort', left)
        },
      }
      signal.addEventListener('abort', left)
      room.waiters.push(waiter)
      if (signal.aborted) left()
      else pump(room)
    })
  }

  function leaveQueue(room: Room, waiter: Waiter, error: Error): void {
    const index = room.waiters.indexOf(waiter)
    if (index < 0) return
    room.waiters.splice(index, 1)
    waiter.stop()
    waiter.reject(error)
    sweep(room)
  }

  /** A place on the session that all calls of the key which cannot be asked share. */
  async function share(want: Want): Promise<Lease> {
    const room = roomOf(want.key)
    if (limits.pinned) {
      const [pinned] = room.entries
      if (pinned !== undefined && !pinned.session.retired()) return guest(pinned)
    }
    if (room.shared === undefined) {
      const opened = openEntry(room, want)
      room.shared = opened
      opened.catch(() => {
        if (room.shared === opened) room.shared = undefined
        sweep(room)
      })
    }
    const entry = await room.shared
    if (entry.session.retired()) return share(want)
    return guest(entry)
  }

  function guest(entry: Entry): Lease {
    entry.guests += 1
    return {
      session: entry.session,
      exclusive: false,
      suspended: () => undefined,
      release: once(() => {
        entry.guests -= 1
        settleDown(entry)
      }),
    }
  }

  function grant(waiter: Waiter, entry: Entry): void {
    waiter.stop()
    const use = { suspended: false }
    entry.leases.add(use)
    const { room } = entry
    waiter.resolve({
      session: entry.session,
      exclusive: true,
      suspended(yes) {
        use.suspended = yes
        if (yes) pumpAll()
      },
      release: once((clean: boolean) => {
        entry.leases.delete(use)
        // A server that keeps no sessions has nothing to be unclean about, and others are using it.
        if (entry.session.sessionful() && (!clean || entry.once)) close(entry)
        else settleDown(entry)
        pump(room)
      }),
    })
  }

  function settleDown(entry: Entry): void {
    if (!entries.has(entry) || !isIdle(entry)) return
    if (closed || entry.session.retired()) {
      close(entry)
      return
    }
    entry.idleSinceMs = clock.now()
    reaper.arm()
    pumpAll()
  }

  /** Serves those who wait for a session of this key, in order. */
  function pump(room: Room): void {
    while (room.waiters.length > 0) {
      const waiter = room.waiters[0]
      if (waiter === undefined) return
      const verdict = next(room, waiter.want)
      if (verdict === 'later') return
      if (verdict === 'full') {
        leaveQueue(room, waiter, overloaded('every session waits for a person'))
      } else if (verdict === 'open') {
        void openFor(room, waiter.want)
      } else {
        room.waiters.shift()
        grant(waiter, verdict)
      }
    }
  }

  function next(room: Room, want: Want): Entry | 'open' | 'later' | 'full' {
    if (oneAtATime()) {
      const leased = [...entries].filter((each) => each.leases.size > 0)
      if (leased.length > 0) return waitOn(leased)
    }
    // One that serves a single exchange is free only until it is leased: it is closed after that.
    const free = [...room.entries]
      .filter((each) => each.once === want.once && isFree(each) && !each.session.retired())
      .sort((a, b) => a.serial - b.serial)
    if (free[0] !== undefined) return free[0]
    if (limits.pinned && room.entries.size + room.opening > 0)
      return room.opening > 0 ? 'later' : waitOn(room.entries)
    if (room.opening >= room.waiters.length || opening >= limits.maxOpening) return 'later'
    const own = [...entries].filter((each) => each.principal === want.principal)
    if (own.length >= limits.maxPerPrincipal && !evict(own)) return waitOn(own)
    if (entries.size + opening >= limits.max && !evict(entries)) return waitOn(entries)
    return 'open'
  }

  const waitOn = (held: Iterable<Entry>): 'later' | 'full' => {
    for (const entry of held) {
      for (const use of entry.leases) if (!use.suspended) return 'later'
      if (entry.guests > 0) return 'later'
    }
    return opening > 0 ? 'later' : 'full'
  }

  /** Leasable at once: idle, or of a server that keeps no sessions and so has only one to give. */
  function isFree(entry: Entry): boolean {
    if (!entry.session.sessionful()) return true
    return entry.leases.size === 0 && (limits.pinned || (entry.guests === 0 && !isShared(entry)))
  }

  const isIdle = (entry: Entry): boolean => entry.leases.size === 0 && entry.guests === 0
  const sharedEntries = new WeakSet<Entry>()
  const isShared = (entry: Entry): boolean => sharedEntries.has(entry)

  /** Closes the longest idle of these to make room. */
  function evict(candidates: Iterable<Entry>): boolean {
    let oldest: Entry | undefined
    for (const entry of candidates) {
      if (isIdle(entry) && (oldest === undefined || entry.idleSinceMs < oldest.idleSinceMs)) oldest = entry
    }
    if (oldest !== undefined) close(oldest)
    return oldest !== undefined
  }

  /** Opens one for whoever is first in the queue by then; a failure is everybody's who waits on the key. */
  async function openFor(room: Room, want: Want): Promise<void> {
    room.opening += 1
    try {
      await openNew(room, want)
      room.opening -= 1
    } catch (error) {
      room.opening -= 1
      for (const waiter of room.waiters.splice(0)) {
        waiter.stop()
        waiter.reject(error)
      }
    }
    pumpAll()
    sweep(room)
  }

  async function openEntry(room: Room, want: Want): Promise<Entry> {
    if (entries.size + opening >= limits.max && !evict(entries)) throw overloaded('every session is in use')
    const entry = await openNew(room, want)
    sharedEntries.add(entry)
    return entry
  }

  async function openNew(room: Room, want: Want): Promise<Entry> {
    if (closed) throw new GatewayError('draining', 'the gateway is shutting down')
    opening += 1
    serial += 1
    const order = serial
    let entry: Entry | undefined
    let gone = false
    try {
      const session = await tracked({
        capabilities: want.capabilities,
        credentials: want.credentials,
        onLost() {
          gone = true
          if (entry !== undefined) forget(entry)
          pumpAll()
        },
        onRetired() {
          if (entry !== undefined && isIdle(entry)) close(entry)
        },
      })
      if (gone)
        throw new GatewayError('upstream_closed', 'the upstream closed the session while it was opened')
      entry = {
        session,
        room,
        principal: want.principal,
        serial: order,
        once: want.once,
        leases: new Set(),
        guests: 0,
        idleSinceMs: clock.now(),
      }
      entries.add(entry)
      room.entries.add(entry)
      rooms.set(room.key, room)
      if (!closed) reaper.arm()
      else {
        close(entry)
        throw new GatewayError('draining', 'the gateway is shutting down')
      }
      return entry
    } finally {
      opening -= 1
    }
  }

  function tracked(request: OpenRequest): Promise<Session> {
    const opened = open(request)
    openings.add(opened)
    void opened.finally(() => openings.delete(opened)).catch(() => undefined)
    return opened
  }

  function forget(entry: Entry): boolean {
    if (!entries.delete(entry)) return false
    entry.room.entries.delete(entry)
    if (sharedEntries.has(entry)) entry.room.shared = undefined
    sweep(entry.room)
    return true
  }

  function close(entry: Entry): void {
    if (!forget(entry)) return
    const done = entry.session.close().finally(() => closing.delete(done))
    closing.add(done)
  }

  function pumpAll(): void {
    for (const room of rooms.values()) if (room.waiters.length > 0) pump(room)
  }

  function sweep(room: Room): void {
    const empty = room.entries.size === 0 && room.waiters.length === 0 && room.opening === 0
    if (empty && room.shared === undefined && rooms.get(room.key) === room) rooms.delete(room.key)
  }

  return {
    lease,
    share,
    counts(): PoolCounts {
      const all = [...entries]
      return {
        idle: all.filter(isIdle).length,
        leased: all.filter((each) => each.leases.size > 0).length,
        shared: all.filter((each) => each.guests > 0).length,
        opening,
        closing: closing.size,
      }
    },
    /** Closes every session, leased or not, and waits until they are closed. */
    async close(): Promise<void> {
      closed = true
      reaper.stop()
      for (const room of rooms.values()) {
        for (const waiter of [...room.waiters]) {
          leaveQueue(room, waiter, new GatewayError('draining', 'the gateway is shutting down'))
        }
      }
      for (const entry of entries) close(entry)
      await Promise.all(closing)
    },
    /** Resolves when nothing is being opened any more, and what was opened is closed. */
    async opened(): Promise<void> {
      await Promise.allSettled(openings)
      await Promise.resolve()
      await Promise.all(closing)
    },
  }
}

export type Pool = ReturnType<typeof createPool>

const overloaded = (message: string): GatewayError => new GatewayError('overloaded', message)

function once<A extends unknown[]>(act: (...args: A) => void): (...args: A) => void {
  let done = false
  return (...args) => {
    if (done) return
    done = true
    act(...args)
  }
}
