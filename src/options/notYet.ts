import { isDeepStrictEqual } from 'node:util'

/** An option that this version knows but does not serve, unless it is one of these values; `*` is any route. */
interface Row {
  readonly path: string
  readonly served: readonly unknown[]
}

/** Whoever builds one of these deletes its row. */
const ROWS: readonly Row[] = [
  { path: 'principal.from', served: ['authorization', 'none'] },
  { path: 'cluster.redis', served: [null] },
  { path: 'tls.cert', served: [null] },
  { path: 'tls.key', served: [null] },
  { path: 'tls.clientCa', served: [null] },
  { path: 'http.corsOrigins', served: [[]] },
  { path: 'routes.*.upstream.ca', served: [null] },
  { path: 'routes.*.upstream.cert', served: [null] },
  { path: 'routes.*.upstream.key', served: [null] },
  { path: 'routes.*.exchange.replay', served: ['annotated', 'never'] },
  { path: 'routes.*.exchange.replayTools', served: [{}] },
  { path: 'routes.*.cache.memoryMs', served: [0] },
  { path: 'routes.*.tasks.dialect', served: ['extension'] },
  { path: 'routes.*.tasks.promoteAfterMs', served: [0] },
  { path: 'routes.*.tasks.withoutExtension', served: ['drive'] },
]

/** Paths of `options` that say what this version does not serve. */
export function notYet(options: unknown): string[] {
  return ROWS.flatMap(({ path, served }) =>
    valuesAt(options, path.split('.'), [])
      .filter(([, value]) => !served.some((each) => isDeepStrictEqual(each, value)))
      .map(([at]) => at),
  )
}

function valuesAt(value: unknown, names: readonly string[], at: readonly string[]): [string, unknown][] {
  const [name, ...rest] = names
  if (name === undefined) return [[at.join('.'), value]]
  if (typeof value !== 'object' || value === null) return []
  const chosen = name === '*' ? Object.keys(value) : [name]
  return chosen.flatMap((each) => valuesAt(Reflect.get(value, each), rest, [...at, each]))
}
