import { GatewayError } from '../errors.ts'
import { type Framed, framed } from './framed.ts'
import { type IncomingResponse, isWritten, readAs, upstreamShape } from './message.ts'
import { removeExecution } from './removeExecution.ts'
import { spliceMeta } from './resultMeta.ts'
import { at, each, type Shape, textOf, type Value } from './scan.ts'
import { createSplice, type Splice } from './splice.ts'

export interface Hints {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

export interface ResultDownOptions {
  /** The method that the result answers. */
  readonly method: string
  /** The upstream's identity as JSON bytes, if it has one. */
  readonly serverInfo: Buffer | undefined
  /** What the route says of results that may be cached. */
  readonly hints: Hints
  /** The request brought answers or a state, so that nobody may cache its result (M-CACHE-04). */
  readonly rounds: boolean
}

interface Rows {
  /** Has `ttlMs` and `cacheScope`, the second as the route says, or always private; others have neither (M-CACHE-01, X-LST-01). */
  readonly cache?: 'route' | 'private'
  /** Comes in pages: a `nextCursor` of null goes (X-LST-08). */
  readonly pages?: true
  /** `execution` of its tools goes (X-LST-02). */
  readonly tools?: true
  /** Has `content`, empty if the upstream left it out (X-RES-01), and is no task (X-RES-05). */
  readonly content?: true
}

/** What a result needs beside X-ENV-06 … 09, which hold for all. */
const results: Readonly<Record<string, Rows>> = {
  'tools/list': { cache: 'route', pages: true, tools: true },
  'prompts/list': { cache: 'route', pages: true },
  'resources/list': { cache: 'route', pages: true },
  'resources/templates/list': { cache: 'route', pages: true },
  'resources/read': { cache: 'private' },
  'tools/call': { content: true },
}

const toolsShape = {
  ...upstreamShape,
  result: { ...upstreamShape.result, tools: each({ execution: true }) },
} as const satisfies Shape

/**
 * Turns an upstream's result into that of a modern request. All that the tables do not name stays byte for
 * byte, and what a legacy server says of rounds is taken out, or it could forge one (M-BASE-05).
 * @throws GatewayError 'upstream_protocol' for a task nobody asked for
 */
export function resultDown(incoming: IncomingResponse, options: ResultDownOptions): Framed {
  const rows = rowsOf(options.method)
  const message = rows.tools ? { ...incoming, root: readAs(incoming.text, toolsShape) } : incoming
  const { text, root } = message
  const result = resultOf(root)
  if (rows.content && isTask(message)) {
    throw new GatewayError('upstream_protocol', 'the upstream made a task that nobody asked for')
  }
  const splice = createSplice(text)
  if (!isWritten(text, at(result, 'resultType'), '"complete"')) splice.set(result, 'resultType', '"complete"')
  splice.remove(result, 'inputRequests')
  splice.remove(result, 'requestState')
  spliceMeta(splice, result, options.serverInfo)
  spliceHints(splice, text, result, rows, options)
  if (rows.pages && at(result, 'nextCursor')?.kind === 'null') splice.remove(result, 'nextCursor')
  if (rows.content && (at(result, 'content')?.kind ?? 'null') === 'null') splice.set(result, 'content', '[]')
  if (rows.tools) removeExecution(splice, at(result, 'tools'))
  return framed(message, splice)
}

/** A result of a tool call that is a task in the place of an outcome (2025-11-25 CreateTaskResult). */
export function isTask({ root }: IncomingResponse): boolean {
  return at(root, 'result', 'task')?.kind === 'object' && at(root, 'result', 'content') === undefined
}

function rowsOf(method: string): Rows {
  return (Object.hasOwn(results, method) ? results[method] : undefined) ?? {}
}

function resultOf(root: Value): Value {
  const result = at(root, 'result')
  if (result === undefined) throw new TypeError('an error was taken for a result')
  return result
}

function spliceHints(
  splice: Splice,
  text: Buffer,
  result: Value,
  { cache }: Rows,
  { hints, rounds }: ResultDownOptions,
): void {
  if (cache === undefined) {
    splice.remove(result, 'ttlMs')
    splice.remove(result, 'cacheScope')
    return
  }
  if (rounds) splice.set(result, 'ttlMs', '0')
  else if (!isTtl(text, at(result, 'ttlMs'))) splice.set(result, 'ttlMs', String(hints.ttlMs))
  splice.set(
    result,
    'cacheScope',
    rounds || cache === 'private' ? '"private"' : JSON.stringify(hints.cacheScope),
  )
}

/** An integer of at least 0 (M-CACHE-02). */
function isTtl(text: Buffer, value: Value | undefined): boolean {
  if (value?.kind !== 'number') return false
  const ttlMs = Number(textOf(text, value).toString('latin1'))
  return Number.isSafeInteger(ttlMs) && ttlMs >= 0
}
