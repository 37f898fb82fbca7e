import type { Clock } from '../clock.ts'
import type { Seat } from './acquire.ts'
import type { Lease, Want } from './lease.ts'
import { createReaper } from './reaper.ts'
import type { Session } from './session.ts'
import { createTallies } from './tally.ts'

/** Sessions that serve the same wants. */
export interface Room {
  readonly key: string
  /** In the order in which their opening began. */
  readonly entries: Entry[]
  waiting: number
  opening: number
  /** One opening has failed while others go on. */
  failing: boolean
}

/** A session of the pool. */
export interface Entry extends Seat {
  readonly session: Session
  readonly room: Room
  readonly principal: string
  /** Rises with each opening that begins. */
  readonly serial: number
  leases: number
  suspended: number
  guests: number
  listeners: number
  idleSinceMs: number
}

export interface EntriesOptions {
  readonly clock: Clock
  readonly idleTtlMs: number
  /** A session came free, or waits for a person. */
  readonly changed: () => void
  /** A room has one session less. */
  readonly left: (room: Room) => void
}

/** The sessions of a pool and who uses them: each closes once, unclean ones with their last use (design §4.4). */
export function createEntries({ clock, idleTtlMs, changed, left }: EntriesOptions) {
  const all = new Set<Entry>()
  /** In the order in which they became idle. */
  const idle = new Set<Entry>()
  const closing = new Set<Promise<void>>()
  const tallies = createTallies()
  const reaper = createReaper(clock, idleTtlMs, idle, close)

  /** Takes in a session that was opened for `want`. */
  function add(session: Session, room: Room, serial: number, { principal, once }: Want): Entry {
    const entry: Entry = {
      session,
      room,
      principal,
      serial,
      once,
      leases: 0,
      suspended: 0,
      guests: 0,
      listeners: 0,
      idleSinceMs: clock.now(),
    }
    all.add(entry)
    room.entries.splice(room.entries.findLastIndex((each) => each.serial < serial) + 1, 0, entry)
    tallies.add(principal, 'sessions', 1)
    settle(entry)
    return entry
  }

  /** Gives the use of a session to one exchange alone, or to one call among others. */
  function use(entry: Entry, shares: boolean): Lease {
    const kind = shares ? 'guests' : 'leases'
    const waiting = shares ? 'listeners' : 'suspended'
    let over = false
    let waits = false
    idle.delete(entry)
    count(entry, kind, 1)
    return {
      session: entry.session,
      exclusive: !shares,
      suspended(yes) {
        if (over || yes === waits) return
        waits = yes
        count(entry, waiting, yes ? 1 : -1)
        if (yes) changed()
      },
      release(clean) {
        if (over) return
        if (waits) count(entry, waiting, -1)
        over = true
        count(entry, kind, -1)
        // A server that keeps no sessions has nothing to be unclean about.
        if (!clean && !shares && entry.session.sessionful()) entry.session.retire()
        if (isIdle(entry)) leave(entry)
        changed()
      },
    }
  }

  function count(entry: Entry, what: 'leases' | 'suspended' | 'guests' | 'listeners', by: 1 | -1): void {
    entry[what] += by
    if (all.has(entry)) tallies.add(entry.principal, what, by)
  }

  /** Its last user is gone. */
  function leave(entry: Entry): void {
    if (entry.once || entry.session.retired()) close(entry)
    else settle(entry)
  }

  function settle(entry: Entry): void {
    if (!all.has(entry)) return
    entry.idleSinceMs = clock.now()
    idle.add(entry)
    reaper.arm()
  }

  /** The session is gone, or about to be. */
  function forget(entry: Entry): boolean {
    if (!all.delete(entry)) return false
    idle.delete(entry)
    entry.room.entries.splice(entry.room.entries.indexOf(entry), 1)
    for (const what of ['leases', 'suspended', 'guests', 'listeners'] as const) {
      for (let more = entry[what]; more > 0; more -= 1) tallies.add(entry.principal, what, -1)
    }
    tallies.add(entry.principal, 'sessions', -1)
    left(entry.room)
    return true
  }

  function close(entry: Entry): void {
    if (!forget(entry)) return
    const done: Promise<void> = entry.session.close().finally(() => closing.delete(done))
    closing.add(done)
  }

  return {
    all: all as ReadonlySet<Entry>,
    tallies,
    add,
    use,
    forget,
    close,
    /** The one that has been idle longest, of all or of one principal. */
    longestIdle(principal?: string): Entry | undefined {
      for (const entry of idle) if (principal === undefined || entry.principal === principal) return entry
      return undefined
    },
    closing: () => closing.size,
    /** Closes all of them, used or not, and waits until they are closed. */
    async end(): Promise<void> {
      reaper.stop()
      for (const entry of all) close(entry)
      await Promise.all(closing)
    },
  }
}

export const isIdle = ({ leases, guests }: Entry): boolean => leases === 0 && guests === 0

/** Sessions by what they do; one that is both leased and shared counts as leased. */
export function countEntries(entries: Iterable<Entry>) {
  let idle = 0
  let leased = 0
  let shared = 0
  for (const entry of entries) {
    if (entry.leases > 0) leased += 1
    else if (entry.guests > 0) shared += 1
    else idle += 1
  }
  return { idle, leased, shared }
}
