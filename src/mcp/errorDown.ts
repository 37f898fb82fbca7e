import { type Framed, framed } from './framed.ts'
import { codeOf, type IncomingResponse, readAs } from './message.ts'
import { at, textOf, type Value } from './scan.ts'
import { createSplice } from './splice.ts'

export interface ErrorDownOptions {
  /** The method that the error answers. */
  readonly method: string
  /** The resource that was to be read. */
  readonly uri?: string | undefined
}

export interface ErrorDown extends Framed {
  /** The code that the client gets. */
  readonly code: number
  /** HTTP status while no stream has begun: an upstream's error is no fault of the exchange. */
  readonly status: 200 | 404
}

const dataShape = { upstreamCode: true } as const

const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL = -32603

/** The codes that must not pass as they are; all others do (X-ERR-08). */
const codes = [
  { row: 'X-ERR-01', from: -32002, to: -32002, becomes: INVALID_PARAMS, keepsCode: false },
  // X-ERR-04 among them: a -32042 that became no round.
  { row: 'X-ERR-06', from: -32099, to: -32020, becomes: INTERNAL, keepsCode: true },
] as const

/** Where an upstream's -32601 speaks of the method itself; elsewhere it is the word of a handler (M-HTTP-12). */
const notFoundIs404: readonly string[] = [
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'completion/complete',
]

/**
 * Turns an upstream's error into one that the modern revision allows: its code by the table, its message and
 * data kept. `data.reason` is never set, since that is how our own errors are told (M-BASE-09).
 */
export function errorDown(incoming: IncomingResponse, { method, uri }: ErrorDownOptions): ErrorDown {
  const { text, root } = incoming
  const error = at(root, 'error')
  const came = codeOf(incoming)
  if (error === undefined || came === undefined) throw new TypeError('a result was taken for an error')
  const rule = codes.find(({ from, to }) => came >= from && came <= to)
  const code = rule?.becomes ?? came
  const splice = createSplice(text)
  if (rule !== undefined) splice.set(error, 'code', String(code))
  if (at(error, 'message')?.kind !== 'string') splice.set(error, 'message', '"the upstream gave no message"')
  const data = at(error, 'data')
  if (rule?.keepsCode) splice.set(error, 'data', withCode(text, data, came))
  else if (rule !== undefined && uri !== undefined && (data?.kind ?? 'null') === 'null') {
    splice.set(error, 'data', JSON.stringify({ uri }))
  }
  const status = code === METHOD_NOT_FOUND && notFoundIs404.includes(method) ? 404 : 200
  return { ...framed(incoming, splice), code, status }
}

/** The upstream's `data` with its code added; a value that takes no members moves to `upstreamData`. */
function withCode(text: Buffer, data: Value | undefined, code: number): Buffer {
  if (data === undefined || data.kind === 'null') return Buffer.from(`{"upstreamCode":${code}}`)
  const bytes = textOf(text, data)
  if (data.kind !== 'object') {
    return Buffer.concat([Buffer.from(`{"upstreamCode":${code},"upstreamData":`), bytes, Buffer.from('}')])
  }
  const root = readAs(bytes, dataShape)
  const splice = createSplice(bytes)
  splice.set(root, 'upstreamCode', String(code))
  return splice.bytes()
}
