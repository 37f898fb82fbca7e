import { parse } from 'yaml'

/** What the command line says. */
export interface Flags {
  readonly upstream?: string | undefined
  readonly listen?: string | undefined
  readonly admin?: string | undefined
  readonly logLevel?: string | undefined
  /** `path=value` pairs, such as `routes.0.exchange.holdMs=0`; values are YAML. */
  readonly set?: readonly string[] | undefined
}

type Tree = Record<string, unknown>

/** Puts the command line over the tree of options; returns its problems. */
export function applyFlags(tree: Tree, flags: Flags): string[] {
  const problems: string[] = []
  for (const name of ['listen', 'admin', 'logLevel'] as const) {
    if (flags[name] !== undefined) tree[name] = flags[name]
  }
  if (flags.upstream !== undefined) problems.push(...applyUpstream(tree, flags.upstream))
  else if (tree.routes === undefined) {
    problems.push('nothing to serve: give --upstream URL, or --config FILE with routes')
  }
  for (const pair of flags.set ?? []) problems.push(...applySet(tree, pair))
  return problems
}

function applyUpstream(tree: Tree, url: string): string[] {
  tree.routes ??= [{}]
  const { routes } = tree
  const [route, more] = Array.isArray(routes) ? routes : []
  if (!isTree(route) || more !== undefined) return ['--upstream: the file must have exactly one route for it to override']
  const upstream = route.upstream ?? {}
  if (!isTree(upstream)) return ['routes.0.upstream: must be a mapping']
  route.upstream = { ...upstream, url }
  return []
}

function applySet(tree: Tree, pair: string): string[] {
  const [, path, text] = /^([\w.-]+)=(.*)$/s.exec(pair) ?? []
  if (path === undefined || text === undefined) return [`--set ${pair}: must be path=value, such as http.drainMs=5000`]
  const names = path.split('.')
  const last = names.pop() ?? ''
  if ([...names, last].some(name => name === '__proto__')) return [`--set ${path}: there is no such option`]
  let at: unknown = tree
  for (const [depth, name] of names.entries()) {
    const next = childOf(at, name)
    if (next === undefined) return [`--set ${path}: ${names.slice(0, depth).join('.') || 'the top level'} has no ${name}`]
    at = next
  }
  let value: unknown
  try {
    value = parse(text)
  } catch {
    return [`--set ${path}: the value is not YAML`]
  }
  if (Array.isArray(at) && /^\d+$/.test(last) && Number(last) <= at.length) at[Number(last)] = value
  else if (isTree(at)) at[last] = value
  else return [`--set ${path}: ${names.join('.')} takes no ${last}`]
  return []
}

/** The section or item of that name; a section that is not there yet is made. */
function childOf(parent: unknown, name: string): unknown {
  if (Array.isArray(parent)) return /^\d+$/.test(name) ? parent[Number(name)] : undefined
  if (!isTree(parent)) return undefined
  parent[name] ??= {}
  return parent[name]
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
