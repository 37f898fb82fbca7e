import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { acquire, type PoolLimits, type Verdict } from './acquire.ts'
import { countEntries, createEntries, type Entry, isIdle, type Room } from './entries.ts'
import type { Lease, Want } from './lease.ts'
import type { OpenRequest } from './opening.ts'
import type { Session } from './session.ts'
import { createWaiters, type Waiter } from './waiters.ts'

export type { PoolLimits } from './acquire.ts'
export type { Lease, Want } from './lease.ts'

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

/**
 * The sessions of one route (design §4.5). Everybody who wants one queues; whenever something changes, each in
 * turn gets what `acquire` says. So whoever waits takes what comes first, a session given back or one opened.
 */
export function createPool({ limits, clock, open, oneAtATime }: PoolOptions) {
  const rooms = new Map<string, Room>()
  const entries = createEntries({ clock, idleTtlMs: limits.idleTtlMs, changed: serveAll, left: sweep })
  const { tallies } = entries
  const waiters = createWaiters<Room>({ clock, waitMs: limits.waitMs, patient: isOpenedFor, left })
  const openings = new Set<Promise<void>>()
  let lastSerial = 0
  let closed = false

  function queued(want: Want, shares: boolean, signal: AbortSignal | undefined): Promise<Lease> {
    if (closed) return Promise.reject(draining())
    return new Promise((resolve, reject) => {
      const room = roomOf(want, shares)
      room.waiting += 1
      waiters.join(want, room, shares, resolve, reject, signal)
      serveAll()
    })
  }

  function left({ room }: Waiter<Room>): void {
    room.waiting -= 1
    sweep(room)
  }

  /** Shared sessions are never leased, except where all calls of a context are pinned to one session. */
  function roomOf({ key }: Want, shares: boolean): Room {
    const name = shares && !limits.pinned ? `shared ${key}` : key
    let room = rooms.get(name)
    if (room === undefined) {
      room = { key: name, entries: [], waiting: 0, opening: 0, failing: false }
      rooms.set(name, room)
    }
    return room
  }

  function sweep(room: Room): void {
    if (room.entries.length + room.waiting + room.opening === 0) rooms.delete(room.key)
  }

  /** Goes through the queue once; one that has to wait for a session keeps its room's others waiting. */
  function serveAll(): void {
    const ahead = new Map<Room, number>()
    const stuck = new Set<Room>()
    for (const waiter of waiters.queue) {
      const { room, shares } = waiter
      if (stuck.has(room) && !shares) continue
      const place = ahead.get(room) ?? 0
      const verdict = judge(waiter, place)
      if (verdict.do === 'take') waiter.serve(entries.use(verdict.seat, shares))
      else if (verdict.do === 'refuse') waiter.fail(refusal(verdict.limit))
      else {
        if (verdict.do === 'open') begin(waiter, verdict.instead)
        else if (place >= room.opening) stuck.add(room)
        ahead.set(room, place + 1)
      }
    }
  }

  function judge({ want, room, shares }: Waiter<Room>, ahead: number): Verdict<Entry> {
    const { principal, once } = want
    return acquire(
      {
        limits,
        seats: room.entries,
        opening: room.opening,
        failing: room.failing,
        ahead,
        all: { tally: tallies.all, idle: () => entries.longestIdle() },
        own: { tally: tallies.of(principal), idle: () => entries.longestIdle(principal) },
        oneAtATime: oneAtATime(),
      },
      { once, shares },
    )
  }

  /** A session is being opened that this one will get, if nothing else comes before. */
  function isOpenedFor({ room }: Waiter<Room>, before: readonly Waiter<Room>[]): boolean {
    return before.filter((each) => each.room === room).length < room.opening
  }

  function begin({ want, room }: Waiter<Room>, instead: Entry | undefined): void {
    if (instead !== undefined) entries.close(instead)
    room.opening += 1
    tallies.add(want.principal, 'opening', 1)
    const done: Promise<void> = openFor(want, room).finally(() => openings.delete(done))
    openings.add(done)
  }

  /** Opens a session for whoever is first in the queue by then. */
  async function openFor(want: Want, room: Room): Promise<void> {
    lastSerial += 1
    const serial = lastSerial
    let entry: Entry | undefined
    let lost: GatewayError | undefined
    const end = (): void => {
      room.opening -= 1
      tallies.add(want.principal, 'opening', -1)
    }
    let session: Session
    try {
      session = await open({
        context: want.context,
        capabilities: want.capabilities,
        credentials: want.credentials,
        onLost(error) {
          lost = error
          if (entry !== undefined && entries.forget(entry)) serveAll()
        },
        onRetired() {
          if (entry === undefined || !isIdle(entry)) return
          entries.close(entry)
          serveAll()
        },
      })
      if (closed || lost !== undefined || session.retired()) {
        await session.close()
        throw closed ? draining() : (lost ?? gone())
      }
    } catch (error) {
      end()
      failed(room, error)
      serveAll()
      sweep(room)
      return
    }
    end()
    entry = entries.add(session, room, serial, want)
    room.failing = false
    serveAll()
    // One that serves once is of no use to later ones.
    if (entry.once && isIdle(entry)) entries.close(entry)
  }

  /** A failure is one caller's while others are being opened for the rest; the last one is everybody's. */
  function failed(room: Room, error: unknown): void {
    room.failing = room.opening > 0
    for (const waiter of waiters.queue) {
      if (waiter.room !== room) continue
      waiter.fail(error)
      if (room.failing) return
    }
  }

  return {
    /** Leases a session for an exchange that may be asked. @throws GatewayError, UpstreamRefusal */
    lease: (want: Want, signal?: AbortSignal): Promise<Lease> => queued(want, false, signal),
    /** A place on the session that all calls of the key which cannot be asked share. @throws as `lease` */
    share: (want: Want, signal?: AbortSignal): Promise<Lease> => queued(want, true, signal),
    counts: (): PoolCounts => ({
      ...countEntries(entries.all),
      opening: tallies.all.opening,
      closing: entries.closing(),
    }),
    /** Closes every session, leased or not, and waits until they are closed. */
    async close(): Promise<void> {
      closed = true
      for (const waiter of waiters.queue) waiter.fail(draining())
      await entries.end()
    },
    /** Resolves when nothing is being opened any more, and what was opened is closed. */
    async opened(): Promise<void> {
      await Promise.all(openings)
      await entries.end()
    },
  }
}

export type Pool = ReturnType<typeof createPool>

const draining = (): GatewayError => new GatewayError('draining', 'the gateway is shutting down')
const gone = (): GatewayError =>
  new GatewayError('upstream_closed', 'the upstream closed the session while it was opened')

function refusal(limit: 'own' | 'all' | 'pinned'): GatewayError {
  const words = {
    own: 'every session of this caller waits for a person',
    all: 'every session waits for a person',
    pinned: 'the session of these credentials waits for a person',
  }
  return new GatewayError('overloaded', words[limit], { ownLimit: limit !== 'all' })
}
