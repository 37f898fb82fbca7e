import { parse } from 'yaml'
import type { Path, Source } from './source.ts'
import { isTree } from './tree.ts'

/** What the command line says. */
export interface Flags {
  readonly upstream?: string | undefined
  readonly listen?: string | undefined
  readonly admin?: string | undefined
  readonly logLevel?: string | undefined
  /** `path=value` pairs, such as `routes.0.exchange.holdMs=0`; values are YAML. */
  readonly set?: readonly string[] | undefined
}

const NAMES = { listen: '--listen', admin: '--admin', logLevel: '--log-level' } as const

/** Puts the command line over the tree of options; returns its problems. */
export function applyFlags(source: Source, flags: Flags): string[] {
  const { tree, setBy } = source
  const problems: string[] = []
  for (const name of ['listen', 'admin', 'logLevel'] as const) {
    if (flags[name] === undefined) continue
    tree[name] = flags[name]
    setBy([name], NAMES[name])
  }
  if (flags.upstream !== undefined) problems.push(...applyUpstream(source, flags.upstream))
  else if (tree.routes === undefined) {
    problems.push('nothing to serve: give --upstream URL, or --config FILE with routes')
  }
  for (const pair of flags.set ?? []) problems.push(...applySet(source, pair))
  return problems
}

function applyUpstream({ tree, setBy }: Source, url: string): string[] {
  const routes = tree.routes ?? [{}]
  const [route, more] = Array.isArray(routes) ? routes : []
  if (!isTree(route) || more !== undefined) {
    return ['--upstream: the file must have exactly one route for it to override']
  }
  const upstream = route.upstream ?? {}
  if (!isTree(upstream)) return ['routes.0.upstream: must be a section with options of its own']
  tree.routes = [{ ...route, upstream: { ...upstream, url } }]
  setBy(['routes', 0, 'upstream', 'url'], '--upstream')
  return []
}

function applySet({ tree, setBy }: Source, pair: string): string[] {
  const [, path, text] = /^([\w.-]+)=(.*)$/s.exec(pair) ?? []
  // What stands there instead is not repeated: it may be a key.
  if (path === undefined || text === undefined)
    return ['--set: must be path=value, such as http.drainMs=5000']
  const names: Path = path.split('.')
  if (names.includes('__proto__')) return [`--set ${path}: there is no such option`]
  let at: unknown = tree
  for (const [depth, name] of names.slice(0, -1).entries()) {
    const next = childOf(at, name)
    if (next === undefined)
      return [`--set ${path}: ${names.slice(0, depth).join('.') || 'the top level'} has no ${String(name)}`]
    at = next
  }
  const last = String(names.at(-1))
  const value = yamlOf(text)
  if (Array.isArray(at) && isIndex(last) && Number(last) <= at.length) at[Number(last)] = value
  else if (isTree(at)) at[last] = value
  else return [`--set ${path}: ${names.slice(0, -1).join('.')} takes no ${last}`]
  setBy(names, '--set')
  return []
}

/** YAML, or else the text itself: `[::1]:8808` is an address. */
function yamlOf(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return text
  }
}

/** The section or item of that name; a section that is not there yet is made. */
function childOf(parent: unknown, name: PropertyKey): unknown {
  if (Array.isArray(parent)) return isIndex(name) ? parent[Number(name)] : undefined
  if (!isTree(parent)) return undefined
  parent[String(name)] ??= {}
  return parent[String(name)]
}

function isIndex(name: PropertyKey): boolean {
  return /^\d+$/.test(String(name))
}
