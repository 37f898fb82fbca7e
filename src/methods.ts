import type { Annotations } from './catalog/annotations.ts'
import type { createCompletes } from './catalog/completes.ts'
import { discover } from './catalog/discover.ts'
import type { Exchanges } from './exchange/exchanges.ts'
import { wantOf } from './exchange/wantOf.ts'
import type { Listeners } from './listen/listeners.ts'
import type { Answer, ModernRequest } from './mcp/request.ts'
import type { RouteOptions } from './options/schema.ts'
import type { Upstream } from './upstream/upstream.ts'

/** What serves one route. */
export interface RouteHouse {
  readonly route: RouteOptions
  readonly upstream: Upstream
  readonly exchanges: Exchanges
  readonly annotations: Annotations
  readonly completes: ReturnType<typeof createCompletes>
  readonly listeners: Listeners
  readonly shareAnonymous: boolean
}

/** Serves one request; what it throws is the answer's. */
export type Serve = (house: RouteHouse, request: ModernRequest, answer: Answer) => void | Promise<void>

/** May suspend: the methods that rounds are defined for (mrtr §Supported Requests). */
const call: Serve = ({ exchanges }, request, answer) => exchanges.serve(request, answer, { rounds: true })

/** The same, after the headers that mirror its arguments were held against them (M-HDR-05). */
const callTool: Serve = ({ exchanges, annotations }, request, answer) => {
  const asked = annotations.check(request)
  if (asked === undefined) exchanges.serve(request, answer, { rounds: true })
  else return asked.then(() => exchanges.serve(request, answer, { rounds: true }))
}

/** Goes to the upstream and back. */
const forward: Serve = ({ exchanges }, request, answer) => exchanges.serve(request, answer, { rounds: false })

const listTools: Serve = ({ exchanges, annotations }, request, answer) =>
  exchanges.serve(request, answer, {
    rounds: false,
    onResult: (response) => annotations.learn(request, response),
  })

/** How each method of the modern revision is served; what is absent is `-32601`. */
export const methods: ReadonlyMap<string, Serve> = new Map<string, Serve>([
  [
    'server/discover',
    (house, request, answer) => {
      const { route, shareAnonymous } = house
      const hints = { ttlMs: route.cache.ttlMs, cacheScope: route.cache.scope }
      return discover(house, wantOf(route, request, shareAnonymous), hints, request, answer)
    },
  ],
  ['tools/list', listTools],
  ['prompts/list', forward],
  ['resources/list', forward],
  ['resources/templates/list', forward],
  ['completion/complete', forward],
  ['tools/call', callTool],
  ['prompts/get', call],
  ['resources/read', call],
  [
    'subscriptions/listen',
    ({ route, listeners, shareAnonymous }, request, answer) =>
      listeners.serve(request, wantOf(route, request, shareAnonymous), answer),
  ],
])
