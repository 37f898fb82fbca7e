import type { z } from 'zod'
import { isLoopback } from '../http/loopback.ts'
import { notYet } from './notYet.ts'
import type { optionsSchema } from './schema.ts'
import type { WhereIs } from './source.ts'
import { valueAt } from './tree.ts'

type Loaded = z.output<typeof optionsSchema>
type Route = Loaded['routes'][number]

/** Says that an option is wrong; the path is written with dots. */
type Add = (path: string, what: string) => void
/** Whether somebody set the option, as opposed to its default; 0 in a timeout is its default. */
type Given = (path: string) => boolean

/**
 * What single options cannot say: contradictions are problems; limits that follow from another are lowered
 * (design §10). Changes `options`.
 */
export function crossCheck(options: Loaded, tree: unknown, whereIs: WhereIs): string[] {
  const problems: string[] = []
  const add: Add = (path, what) => void problems.push(`${path}: ${what}${whereIs(path.split('.'))}`)
  const given: Given = (path) => ![undefined, null, 0].some((each) => valueAt(tree, path.split('.')) === each)

  const paths = new Set<string>()
  for (const [index, route] of options.routes.entries()) {
    const at = `routes.${index}`
    if (paths.has(route.path)) add(`${at}.path`, `another route has the path ${route.path}`)
    paths.add(route.path)
    fitLimits(route, at, add, given)
    fitTimeouts(route, at, add, given)
    fitHeaders(route, at, add, given)
  }
  const { limits } = options
  limits.maxConcurrentPerPrincipal = Math.min(limits.maxConcurrentPerPrincipal, limits.maxConnections)
  limits.maxPerAddress = Math.min(limits.maxPerAddress, limits.maxConnections)
  checkAddresses(options, add)
  checkIdentity(options, add)
  for (const path of notYet(options)) add(path, 'not supported by this version')
  return problems
}

function fitLimits({ sessions, exchange }: Route, at: string, add: Add, given: Given): void {
  if (given(`${at}.sessions.max`) && !given(`${at}.exchange.maxSuspended`)) {
    exchange.maxSuspended = Math.max(1, Math.floor((sessions.max * 3) / 4))
  }
  if (exchange.maxSuspended > sessions.max) {
    add(
      `${at}.exchange.maxSuspended`,
      `must be at most sessions.max (${sessions.max}), not ${exchange.maxSuspended}`,
    )
  }
  sessions.maxPerPrincipal = Math.min(sessions.maxPerPrincipal, sessions.max)
  sessions.maxOpening = Math.min(sessions.maxOpening, sessions.max)
  exchange.maxSuspendedPerPrincipal = Math.min(exchange.maxSuspendedPerPrincipal, exchange.maxSuspended)
}

function fitTimeouts({ upstream }: Route, at: string, add: Add, given: Given): void {
  const { requestTimeoutMs, maxTimeoutMs } = upstream
  if (requestTimeoutMs <= maxTimeoutMs) return
  if (!given(`${at}.upstream.requestTimeoutMs`)) upstream.requestTimeoutMs = maxTimeoutMs
  else if (!given(`${at}.upstream.maxTimeoutMs`)) upstream.maxTimeoutMs = requestTimeoutMs
  else
    add(
      `${at}.upstream.requestTimeoutMs`,
      `must be at most maxTimeoutMs (${maxTimeoutMs}), not ${requestTimeoutMs}`,
    )
}

/** A header is the options' or the client's: one that is fixed is not forwarded. */
function fitHeaders({ upstream }: Route, at: string, add: Add, given: Given): void {
  const fixed = new Set(Object.keys(upstream.headers).map((name) => name.toLowerCase()))
  const both = upstream.forwardHeaders.filter((name) => fixed.has(name.toLowerCase()))
  if (both.length === 0) return
  if (given(`${at}.upstream.forwardHeaders`)) {
    add(
      `${at}.upstream.forwardHeaders`,
      `${both.join(', ')} cannot be forwarded and fixed in upstream.headers too`,
    )
  }
  upstream.forwardHeaders = upstream.forwardHeaders.filter((name) => !fixed.has(name.toLowerCase()))
}

function checkAddresses({ listen, admin, http }: Loaded, add: Add): void {
  if (!isLoopback(listen) && http.allowedHosts.length === 0) {
    add('listen', `${listen} is not loopback: http.allowedHosts must name the hosts that clients use`)
  }
  if (admin === listen && !listen.endsWith(':0'))
    add('admin', `must be another address than listen (${listen}), or off`)
}

function checkIdentity({ principal, requestState, cluster }: Loaded, add: Add): void {
  const needed = {
    header: ['name'],
    jwt: ['issuer', 'audience', 'jwks'],
    authorization: [],
    none: [],
  } as const
  for (const name of needed[principal.from]) {
    if (principal[name] === undefined)
      add(`principal.${name}`, `must be set for principal.from ${principal.from}`)
  }
  const { keys, keysFile } = requestState
  if (keys.length > 0 && keysFile !== null) add('requestState.keysFile', 'must not be set together with keys')
  if (cluster.redis !== null && keys.length === 0 && keysFile === null) {
    add('requestState', 'must have keys, or a keysFile, that all replicas share (cluster.redis is set)')
  }
}
