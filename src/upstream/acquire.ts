export interface PoolLimits {
  readonly max: number
  readonly maxPerPrincipal: number
  readonly maxOpening: number
  readonly waitMs: number
  readonly idleTtlMs: number
  /** One session per key, one interruptible call at a time. */
  readonly pinned: boolean
}

/** What the choice of a session looks at. */
export interface Seat {
  /** It serves one exchange and is closed after it. */
  readonly once: boolean
  /** Exchanges that hold it alone, and calls that share it. */
  readonly leases: number
  /** Of the leases, those that wait for a person. */
  readonly suspended: number
  readonly guests: number
  /** Of the guests, those that only listen. */
  readonly listeners: number
  readonly session: {
    /** False: its upstream knows no sessions, so this one serves everybody. */
    sessionful(): boolean
    retired(): boolean
  }
}

/** Sums over all sessions, or over one principal's. */
export interface Tally {
  sessions: number
  opening: number
  leases: number
  suspended: number
  guests: number
  /** Of the guests, those that only listen. */
  listeners: number
}

export interface Scope<S extends Seat> {
  readonly tally: Readonly<Tally>
  /** The session that has been idle longest, if one is. */
  idle(): S | undefined
}

/** The pool as it is when somebody wants a session. */
export interface Snapshot<S extends Seat> {
  readonly limits: PoolLimits
  /** The sessions that may serve the want, in the order of opening, and how many more are being opened. */
  readonly seats: Iterable<S>
  readonly opening: number
  /** An opening of them has failed while others go on: no more are begun. */
  readonly failing: boolean
  /** How many wait for the same before this one. */
  readonly ahead: number
  readonly all: Scope<S>
  readonly own: Scope<S>
  /** Only one exchange at a time can be asked, since the upstream sends its questions to everybody. */
  readonly oneAtATime: boolean
}

/** To take a session, to open one (closing an idle one first), to wait, or to go away. */
export type Verdict<S extends Seat> =
  | { readonly do: 'take'; readonly seat: S }
  | { readonly do: 'open'; readonly instead: S | undefined }
  | { readonly do: 'wait' }
  | { readonly do: 'refuse'; readonly limit: 'own' | 'all' | 'pinned' }

/**
 * Which session serves a want (design §4.5, §4.6): an idle one, the one opened first; else a new one while the
 * limits allow; else the next that comes free, unless everything that could come free waits for a person.
 */
export function acquire<S extends Seat>(
  snapshot: Snapshot<S>,
  want: { readonly once: boolean; readonly shares: boolean },
): Verdict<S> {
  const { limits, seats, opening, all, own } = snapshot
  if (snapshot.oneAtATime && !want.shares && all.tally.leases > 0) {
    return all.tally.suspended < all.tally.leases ? WAIT : { do: 'refuse', limit: 'all' }
  }
  let held: S | undefined
  for (const seat of seats) {
    if (serves(seat, want, limits.pinned)) return { do: 'take', seat }
    held = seat
  }
  if (limits.pinned && !want.once) {
    if (opening > 0) return WAIT
    if (held !== undefined) return waitFor(held, 'pinned')
  } else if (want.shares && !want.once && opening > 0) return WAIT
  if (snapshot.failing || opening > snapshot.ahead || all.tally.opening >= limits.maxOpening) return WAIT

  const full = all.tally.sessions + all.tally.opening >= limits.max
  if (own.tally.sessions + own.tally.opening >= limits.maxPerPrincipal) {
    const instead = own.idle()
    return instead === undefined ? waitFor(own.tally, full ? 'all' : 'own') : { do: 'open', instead }
  }
  if (full) {
    const instead = all.idle()
    return instead === undefined ? waitFor(all.tally, 'all') : { do: 'open', instead }
  }
  return { do: 'open', instead: undefined }
}

const WAIT = { do: 'wait' } as const

function serves(seat: Seat, want: { once: boolean; shares: boolean }, pinned: boolean): boolean {
  const { session, leases, guests } = seat
  if (seat.once !== want.once || session.retired()) return false
  if (want.once) return leases === 0 && guests === 0
  return want.shares || !session.sessionful() || (leases === 0 && (pinned || guests === 0))
}

/** No call ever waits behind a person, or behind somebody who only listens. */
function waitFor<S extends Seat>(
  held: { leases: number; suspended: number; guests: number; listeners: number; opening?: number },
  limit: 'own' | 'all' | 'pinned',
): Verdict<S> {
  const { leases, suspended, guests, listeners, opening = 0 } = held
  const running = leases - suspended + guests - listeners + opening
  return running > 0 ? WAIT : { do: 'refuse', limit }
}
