import type { Clock } from '../clock.ts'
import { GatewayError, UpstreamUpgraded } from '../errors.ts'
import type { RouteOptions } from '../options/schema.ts'
import { askEra } from './askEra.ts'
import { createEra, type Era, type Verdict } from './era.ts'
import { createNews, type Watcher } from './news.ts'
import { openSession } from './opening.ts'
import { createOutside } from './outside.ts'
import { createPool, type Lease, type PoolCounts, type Want } from './pool.ts'
import { createWire } from './wire.ts'

/** The server behind one route. */
export interface Upstream {
  /** A session for one exchange alone. @throws GatewayError, UpstreamRefusal */
  lease(want: Want, signal: AbortSignal): Promise<Lease>
  /** A place on the session that calls which cannot be asked share. @throws GatewayError, UpstreamRefusal */
  share(want: Want, signal?: AbortSignal): Promise<Lease>
  /** Tells `watcher` what all sessions of an authorization context say outside of calls, until it is called off. */
  watch(context: string, watcher: Watcher): () => void
  /** An id for a request of ours, unique across all sessions of the upstream. */
  nextId(): number
  /** Which of the two it speaks, since it may be exchanged while we run. */
  readonly era: Era
  counts(): PoolCounts & { readonly sockets: number }
  close(): Promise<void>
}

/** How long opening a session may take: `initialize` of a server that starts up on demand is slow. */
const OPEN_TIMEOUT_MS = 30_000
/** Request ids begin at random, since several frameworks route answers by id alone (design §4.7). */
const FIRST_ID_BELOW = 2 ** 40

/** Builds the pool, the wire and what is learned of one route's upstream. */
export function createUpstream(
  route: RouteOptions,
  clock: Clock,
  onBroadcast: () => void,
  onEra: (verdict: Verdict) => void = () => undefined,
): Upstream {
  const url = new URL(route.upstream.url)
  const wire = createWire(url)
  const outside = createOutside(clock, onBroadcast)
  const news = createNews()
  const { transport } = route.upstream
  const headers = lowerCased(route.upstream.headers)
  const learned = { transport: undefined, revision: undefined }
  let lastId = Math.floor(Math.random() * FIRST_ID_BELOW)
  const nextId = (): number => {
    lastId += 1
    return lastId
  }
  const { max, maxPerPrincipal, maxOpening, waitMs, idleTtlMs, affinity } = route.sessions
  const channel = { wire, url, headers, clock }
  const era = createEra({
    pinned: route.upstream.era,
    ask: (credentials) => askEra(channel, nextId(), credentials),
    clock,
    onChange: onEra,
  })
  const opening = { ...channel, transport, learned, nextId, outside, news, timeoutMs: OPEN_TIMEOUT_MS }
  const pool = createPool({
    limits: { max, maxPerPrincipal, maxOpening, waitMs, idleTtlMs, pinned: affinity === 'context' },
    clock,
    oneAtATime: () => outside.broadcasting(),
    open: async (request) => {
      try {
        return await openSession(opening, {
          ...request,
          onLost(error) {
            era.doubt()
            request.onLost(error)
          },
        })
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        era.doubt()
        // So may a modern server answer; down or busy, it is no use to ask it now.
        if (error.reason !== 'upstream_protocol') throw error
        const now = await era.again(() => request.credentials)
        throw now === 'modern' ? new UpstreamUpgraded(error) : error
      }
    },
  })
  return {
    lease: pool.lease,
    share: pool.share,
    watch: news.watch,
    nextId,
    era,
    counts: () => ({ ...pool.counts(), sockets: wire.busy() }),
    async close() {
      await pool.close()
      outside.close()
      // Sessions that are being opened fail now, rather than being waited for.
      await wire.close()
      await pool.opened()
    },
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
