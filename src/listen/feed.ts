import type { Clock } from '../clock.ts'
import { type Change, changeOf, type ListName, missedList, missedUpdate } from '../mcp/change.ts'
import type { Want } from '../upstream/pool.ts'
import type { Handshake } from '../upstream/session.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { createAsking } from './asking.ts'
import { deliverable } from './deliverable.ts'
import { admits, type Filter } from './filter.ts'
import { createFold } from './fold.ts'
import { createStanding } from './standing.ts'
import { createSubscriptions } from './subscriptions.ts'

/** Somebody whom a feed tells changes. */
export interface Ear {
  changed(change: Change): void
}

export interface FeedOptions {
  readonly upstream: Upstream
  readonly want: Want
  readonly clock: Clock
  /** No more will come for these. */
  readonly onOver: (ears: ReadonlySet<Ear>) => void
  /** Nobody listens any more, and everything is given back. */
  readonly onEmpty: () => void
}

interface Seat {
  readonly lists: Set<ListName>
  readonly uris: Set<string>
}

/** How long the upstream has in all to take the subscriptions of one listener. */
const SUBSCRIBE_MS = 5_000

/**
 * The changes that any session of one authorization context announces, for its listeners: one session stays
 * open for them, on which the resources are subscribed that they name.
 */
export function createFeed({ upstream, want, clock, onOver, onEmpty }: FeedOptions) {
  const seats = new Map<Ear, Seat>()
  const { nextId } = upstream
  const asking = createAsking({ clock, nextId, credentials: want.credentials })
  const fold = createFold(clock, tell)
  const standing = createStanding({ upstream, want, clock, asking, onBack: () => void back(), onOver: over })
  const subscriptions = createSubscriptions({
    async ask(method, uri) {
      const session = standing.now()
      return session === undefined ? 'unknown' : asking.ask(session, method, { uri }, SUBSCRIBE_MS)
    },
  })
  const unwatch = upstream.watch(want.context, {
    notification(notification) {
      const change = changeOf(notification)
      if (change !== undefined) fold.add(change)
    },
    gone: standing.replace,
  })
  let closed = false
  let handshake: Handshake | undefined

  /**
   * Takes a place for `ear`; resolves with what of its filter the upstream can keep (X-CAP-05). Changes may be
   * told before.
   *
   * @throws GatewayError, UpstreamRefusal
   */
  async function join(ear: Ear, filter: Filter): Promise<Filter> {
    const seat: Seat = { lists: new Set(), uris: new Set() }
    seats.set(ear, seat)
    const session = await standing.session()
    handshake = session.handshake
    const declared = deliverable(session)
    for (const list of filter.lists) if (declared.lists.has(list)) seat.lists.add(list)
    if (declared.resources) await subscribe(ear, seat, filter.uris)
    return seat
  }

  async function subscribe(ear: Ear, seat: Seat, uris: ReadonlySet<string>): Promise<void> {
    const untilMs = clock.now() + SUBSCRIBE_MS
    const wanted = (): boolean => seats.has(ear) && clock.now() < untilMs
    await Promise.all(
      [...uris].map(async (uri) => {
        if (!wanted()) return
        seat.uris.add(uri)
        const verdict = await subscriptions.acquire(uri, wanted)
        if (verdict === 'yes') return
        // Who left meanwhile has given it back already.
        if (seat.uris.delete(uri)) subscriptions.release(uri)
      }),
    )
  }

  /** Gives the place of `ear` back, if it has one. */
  function leave(ear: Ear): void {
    const seat = seats.get(ear)
    if (seat === undefined) return
    seats.delete(ear)
    for (const uri of seat.uris) subscriptions.release(uri)
    seat.uris.clear()
    if (seats.size === 0) void rest()
  }

  /** The session is given back once it is as it was found; somebody may come meanwhile. */
  async function rest(): Promise<void> {
    await subscriptions.settled()
    if (seats.size === 0) close()
  }

  function tell(change: Change): void {
    for (const [ear, seat] of [...seats]) if (admits(seat, change)) ear.changed(change)
  }

  /** Nobody knows what was missed while there was no session. */
  async function back(): Promise<void> {
    await subscriptions.again()
    const lists = new Set([...seats.values()].flatMap((seat) => [...seat.lists]))
    const uris = new Set([...seats.values()].flatMap((seat) => [...seat.uris]))
    if (closed) return
    for (const list of lists) fold.add(missedList(list))
    for (const uri of uris) fold.add(missedUpdate(uri))
  }

  function over(): void {
    const ears = new Set(seats.keys())
    close()
    onOver(ears)
  }

  function close(): void {
    if (closed) return
    closed = true
    seats.clear()
    unwatch()
    fold.stop()
    asking.stop()
    standing.close()
    onEmpty()
  }

  return {
    join,
    leave,
    /** That of the latest session. */
    handshake: (): Handshake | undefined => handshake,
    close,
  }
}

export type Feed = ReturnType<typeof createFeed>
