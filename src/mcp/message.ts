import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../errors.ts'
import { meta } from './meta.ts'
import { oneLine } from './oneLine.ts'
import { at, oneOrEach, ScanError, type Shape, scan, stringOf, textOf, type Value } from './scan.ts'

/** Everything that we read or own in a message of an upstream; the rest of it is only skipped. */
export const upstreamShape = {
  jsonrpc: true,
  id: true,
  method: true,
  params: {
    _meta: { [meta.relatedTask]: { taskId: true }, [meta.subscriptionId]: true },
    progressToken: true,
    progress: true,
    requestId: true,
    level: true,
    uri: true,
    elicitationId: true,
    reason: true,
  },
  result: {
    _meta: { [meta.serverInfo]: true, [meta.relatedTask]: { taskId: true }, [meta.subscriptionId]: true },
    resultType: true,
    inputRequests: true,
    requestState: true,
    ttlMs: true,
    cacheScope: true,
    nextCursor: true,
    content: true,
    task: true,
    isError: true,
  },
  error: { code: true, message: true, data: true },
} as const satisfies Shape

interface Message {
  /** The message's own bytes, and where its members are in them. */
  readonly text: Buffer
  readonly root: Value
}

/** The upstream asks. */
export interface IncomingRequest extends Message {
  readonly kind: 'request'
  /** A string or a number, as it was written. */
  readonly id: Buffer
  readonly method: string
}

export interface IncomingNotification extends Message {
  readonly kind: 'notification'
  readonly method: string
}

export interface IncomingResponse extends Message {
  readonly kind: 'response'
  /** Undefined if it is absent, null, or of a kind that no request has (L-BASE-04). */
  readonly id: Buffer | undefined
  /** It has a `result`, which is an object; otherwise an `error`, whose code is an integer. */
  readonly ok: boolean
}

export type Incoming = IncomingRequest | IncomingNotification | IncomingResponse

const LF = 0x0a
const CR = 0x0d
const batchShape = oneOrEach(upstreamShape)

/**
 * Reads what an upstream sent in one JSON text: a message, or an array of messages in order (L-BASE-02).
 *
 * Tolerated, since servers in use do it: no `jsonrpc` member, a notification with `"id": null`, a response
 * whose id is missing or odd. Not tolerated: a member we read that occurs twice, a `result` that is no
 * object, an `error` without integer code, both or neither of them; bytes that are no UTF-8, a line break inside a
 * string.
 * @throws GatewayError 'upstream_protocol'
 */
export function readMessages(text: Buffer): Incoming[] {
  return guarded(() => {
    // Strings are only delimited; what no client could read is looked for by native search.
    if (!isUtf8(text)) throw fault('bytes that are not UTF-8')
    if (text.includes(LF) || text.includes(CR)) oneLine(text)
    const root = scan(text, batchShape)
    if (root.kind !== 'array') return [classify(text, root)]
    const items = root.items ?? []
    if (items.length === 0) throw fault('an empty batch')
    return items.map((item) => {
      const element = textOf(text, item)
      return classify(element, scan(element, upstreamShape))
    })
  })
}

/**
 * Reads bytes of an upstream by another shape.
 * @throws GatewayError 'upstream_protocol'
 */
export function readAs(text: Buffer, shape: Shape): Value {
  return guarded(() => scan(text, shape))
}

/** `value` is there and spelled exactly so. */
export function isWritten(text: Buffer, value: Value | undefined, spelling: string): boolean {
  return value !== undefined && textOf(text, value).toString('latin1') === spelling
}

function guarded<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ScanError) throw fault(`what is no message: ${error.message}`, error)
    throw error
  }
}

function classify(text: Buffer, root: Value): Incoming {
  if (root.kind !== 'object') throw fault('a message that is no object')
  const id = idOf(text, root)
  const method = at(root, 'method')
  const result = at(root, 'result')
  const error = at(root, 'error')
  if (method !== undefined) {
    const name = stringOf(text, method)
    if (name === undefined) throw fault('a method that is no string')
    if (result !== undefined || error !== undefined) throw fault('a request with a result')
    if (id !== undefined) return { kind: 'request', text, root, id, method: name }
    if ((at(root, 'id')?.kind ?? 'null') !== 'null') throw fault('an id that is neither string nor number')
    return { kind: 'notification', text, root, method: name }
  }
  if ((result === undefined) === (error === undefined))
    throw fault('a response without result or with an error too')
  if (result !== undefined && result.kind !== 'object') throw fault('a result that is no object')
  if (error !== undefined && codeOf({ text, root }) === undefined)
    throw fault('an error without integer code')
  return { kind: 'response', text, root, id, ok: result !== undefined }
}

/** The code of an error response, if it has one that is an integer. */
export function codeOf({ text, root }: Message): number | undefined {
  const code = at(root, 'error', 'code')
  if (code?.kind !== 'number') return undefined
  const number = Number(textOf(text, code).toString('latin1'))
  return Number.isSafeInteger(number) ? number : undefined
}

/** Copied, since ids are kept longer than the bytes they came in. */
function idOf(text: Buffer, root: Value): Buffer | undefined {
  const id = at(root, 'id')
  if (id?.kind !== 'string' && id?.kind !== 'number') return undefined
  return Buffer.from(textOf(text, id))
}

function fault(what: string, cause?: unknown): GatewayError {
  return new GatewayError('upstream_protocol', `the upstream sent ${what}`, { cause })
}
