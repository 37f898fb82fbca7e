import type { Clock } from '../clock.ts'
import { GatewayError, ProtocolError } from '../errors.ts'
import type { Answer, ModernRequest } from '../mcp/request.ts'
import type { RouteOptions } from '../options/schema.ts'
import type { Want } from '../upstream/pool.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { createFeed, type Feed } from './feed.ts'
import { readFilter } from './filter.ts'
import { createListener, type Listener } from './listener.ts'

export interface ListenersOptions {
  readonly route: RouteOptions
  readonly upstream: Upstream
  readonly clock: Clock
}

/** Those who listen on one route (patterns/subscriptions). */
export interface Listeners {
  /**
   * Serves `subscriptions/listen` with a session as `want` says: acknowledged once the upstream has said what it keeps of the filter, open
   * until its client goes or there is nothing more to hear.
   *
   * @throws ProtocolError for a bad filter or a client that takes no event stream, GatewayError, UpstreamRefusal
   */
  serve(request: ModernRequest, want: Want, answer: Answer): Promise<void>
  count(): number
  /** Ends every subscription, so that its client comes back. */
  end(): void
  /** Ends every subscription with its result and takes no new ones. */
  drain(): void
  /** The same at once, whatever is still being asked upstream. */
  close(): void
}

const MAX_PER_PRINCIPAL = 256
/** Each feed holds a session for as long as somebody listens; the rest is for calls. */
const SHARE_OF_SESSIONS = 0.75

interface Place {
  readonly listener: Listener
  readonly feed: Feed
  /** Gives it back; without effect the second time. */
  readonly leave: () => void
}

/** Builds the register of a route's listeners: one feed for each authorization context (M-CACHE-06). */
export function createListeners({ route, upstream, clock }: ListenersOptions): Listeners {
  const feeds = new Map<string, Feed>()
  const places = new Set<Place>()
  const perPrincipal = new Map<string, number>()
  const { max, maxPerPrincipal } = route.sessions
  const maxFeeds = shareOf(max)
  let draining = false

  async function serve(request: ModernRequest, want: Want, answer: Answer): Promise<void> {
    if (draining) throw shuttingDown()
    const filter = readFilter(request)
    if (!answer.takesStream) {
      throw new ProtocolError(-32600, 'Accept must admit text/event-stream: changes are told as events', 406)
    }
    // Copied, since the request's own bytes would be kept with it.
    const { listener, feed, leave } = take(
      want,
      createListener(Buffer.from(request.id), answer),
      // A stranger's subscription has a session of its own.
      want.context === request.caller.context ? MAX_PER_PRINCIPAL : shareOf(maxPerPrincipal),
    )
    answer.onLeave(leave)
    try {
      const honoured = await feed.join(listener, filter)
      listener.acknowledge(honoured)
      if (honoured.lists.size + honoured.uris.size === 0) feed.leave(listener)
    } catch (error) {
      leave()
      throw error
    }
  }

  function take(want: Want, listener: Listener, limit: number): Place {
    const { principal } = want
    const own = perPrincipal.get(principal) ?? 0
    if (own >= limit) {
      const message = `${limit} subscriptions of this caller are open`
      throw new GatewayError('overloaded', message, { ownLimit: true })
    }
    const feed = feedOf(want)
    perPrincipal.set(principal, own + 1)
    const place: Place = {
      listener,
      feed,
      leave() {
        if (!places.delete(place)) return
        const left = (perPrincipal.get(principal) ?? 1) - 1
        if (left > 0) perPrincipal.set(principal, left)
        else perPrincipal.delete(principal)
        feed.leave(listener)
      },
    }
    places.add(place)
    return place
  }

  function feedOf(want: Want): Feed {
    const known = feeds.get(want.context)
    if (known !== undefined) return known
    if (feeds.size >= maxFeeds) throw new GatewayError('overloaded', `${maxFeeds} callers already listen`)
    const feed: Feed = createFeed({
      upstream,
      want,
      clock,
      onOver: (ears) =>
        endAll(
          [...places].filter(({ listener }) => ears.has(listener)),
          lost(),
        ),
      onEmpty: () => void feeds.delete(want.context),
    })
    feeds.set(want.context, feed)
    return feed
  }

  function endAll(ending: Iterable<Place>, error: Error): void {
    for (const { listener, feed, leave } of ending) {
      leave()
      listener.end(feed.handshake(), error)
    }
  }

  function drain(): void {
    draining = true
    endAll([...places], shuttingDown())
  }

  return {
    serve,
    count: () => places.size,
    end: () => endAll([...places], lost()),
    drain,
    close() {
      drain()
      for (const feed of [...feeds.values()]) feed.close()
    },
  }
}

const shareOf = (sessions: number): number => Math.max(1, Math.floor(sessions * SHARE_OF_SESSIONS))
const shuttingDown = (): GatewayError => new GatewayError('draining', 'the gateway is shutting down')
const lost = (): GatewayError => new GatewayError('upstream_closed', 'the upstream was lost')
