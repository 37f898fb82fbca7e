import type { z } from 'zod'
import { isLoopback } from '../http/loopback.ts'
import type { WhereIs } from './load.ts'
import type { optionsSchema } from './schema.ts'

type Loaded = z.output<typeof optionsSchema>

/**
 * What single options cannot say: contradictions are problems; limits that follow from another are lowered
 * (design §10). Changes `options`.
 */
export function crossCheck(options: Loaded, tree: unknown, whereIs: WhereIs): string[] {
  const problems: string[] = []
  const add = (path: string, what: string): void => {
    problems.push(`${path}: ${what}${whereIs(path.split('.').map(name => (/^\d+$/.test(name) ? Number(name) : name)))}`)
  }
  const given = (path: string): boolean => valueAt(tree, path) !== undefined

  const paths = new Set<string>()
  for (const [index, route] of options.routes.entries()) {
    const at = `routes.${index}`
    if (paths.has(route.path)) add(`${at}.path`, `another route has the path ${route.path}`)
    paths.add(route.path)
    const { sessions, exchange, upstream } = route
    if (given(`${at}.sessions.max`) && !given(`${at}.exchange.maxSuspended`)) {
      exchange.maxSuspended = Math.max(1, Math.floor((sessions.max * 3) / 4))
    }
    if (exchange.maxSuspended > sessions.max) {
      if (given(`${at}.exchange.maxSuspended`)) add(`${at}.exchange.maxSuspended`, `must be at most sessions.max (${sessions.max})`)
      else exchange.maxSuspended = sessions.max
    }
    if (upstream.requestTimeoutMs > upstream.maxTimeoutMs) {
      const both = given(`${at}.upstream.requestTimeoutMs`) && given(`${at}.upstream.maxTimeoutMs`)
      if (both) add(`${at}.upstream.requestTimeoutMs`, `must be at most maxTimeoutMs (${upstream.maxTimeoutMs})`)
      else if (given(`${at}.upstream.requestTimeoutMs`)) upstream.maxTimeoutMs = upstream.requestTimeoutMs
      else upstream.requestTimeoutMs = upstream.maxTimeoutMs
    }
    sessions.maxPerPrincipal = Math.min(sessions.maxPerPrincipal, sessions.max)
    exchange.maxSuspendedPerPrincipal = Math.min(exchange.maxSuspendedPerPrincipal, exchange.maxSuspended)
  }
  if (!isLoopback(options.listen) && options.http.allowedHosts.length === 0) {
    add('listen', `${options.listen} is not loopback: http.allowedHosts must name the hosts that clients use`)
  }
  for (const { path, is, unless } of notYet(options)) {
    if (is !== unless) add(path, `${JSON.stringify(is)} is not supported by this version`)
  }
  return problems
}

/** Options that this version knows but does not serve yet; whoever builds one deletes its row. */
function notYet(options: Loaded): { path: string; is: unknown; unless: unknown }[] {
  const rows = [
    { path: 'cluster.redis', is: options.cluster.redis, unless: null },
    { path: 'tls.cert', is: options.tls.cert, unless: null },
    { path: 'tls.key', is: options.tls.key, unless: null },
    { path: 'tls.clientCa', is: options.tls.clientCa, unless: null },
    { path: 'http.corsOrigins', is: options.http.corsOrigins.length > 0, unless: false },
  ] as { path: string; is: unknown; unless: unknown }[]
  const { from } = options.principal
  if (from === 'header' || from === 'jwt') rows.push({ path: 'principal.from', is: from, unless: 'authorization' })
  for (const [index, { upstream, exchange, tasks, cache }] of options.routes.entries()) {
    const at = `routes.${index}`
    rows.push(
      { path: `${at}.upstream.era`, is: upstream.era === 'modern', unless: false },
      { path: `${at}.upstream.ca`, is: upstream.ca, unless: null },
      { path: `${at}.upstream.cert`, is: upstream.cert, unless: null },
      { path: `${at}.upstream.key`, is: upstream.key, unless: null },
      { path: `${at}.exchange.replay`, is: exchange.replay === 'always', unless: false },
      { path: `${at}.exchange.replayTools`, is: Object.keys(exchange.replayTools).length > 0, unless: false },
      { path: `${at}.tasks.dialect`, is: tasks.dialect, unless: 'extension' },
      { path: `${at}.tasks.promoteAfterMs`, is: tasks.promoteAfterMs, unless: 0 },
      { path: `${at}.cache.memoryMs`, is: cache.memoryMs, unless: 0 },
    )
  }
  return rows
}

function valueAt(tree: unknown, path: string): unknown {
  let at = tree
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null) return undefined
    at = Reflect.get(at, name)
  }
  return at
}
