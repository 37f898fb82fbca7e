import { ProtocolError } from '../errors.ts'
import { meta } from './meta.ts'
import { at, type Shape, stringOf, textOf, type Value } from './scan.ts'

/** What the door reads of a client's message. */
export const requestShape = {
  jsonrpc: true,
  id: true,
  method: true,
  result: true,
  error: true,
  params: {
    name: true,
    uri: true,
    cursor: true,
    taskId: true,
    arguments: true,
    task: true,
    ref: true,
    inputResponses: true,
    requestState: true,
    notifications: true,
    protocolVersion: true,
    _meta: {
      progressToken: true,
      [meta.protocolVersion]: true,
      [meta.clientInfo]: true,
      [meta.clientCapabilities]: true,
      [meta.logLevel]: true,
    },
  },
} as const satisfies Shape

export type ClientMessage =
  | { readonly kind: 'request'; readonly id: Buffer; readonly method: string }
  | { readonly kind: 'notification'; readonly method: string }
  | { readonly kind: 'response' }

/**
 * What a client's message is (basic §Messages).
 *
 * @throws ProtocolError -32600 for what is none (M-BASE-01, M-HTTP-04)
 */
export function classify(text: Buffer, root: Value): ClientMessage {
  if (root.kind === 'array') throw invalid('one message a request: a batch is not accepted')
  if (root.kind !== 'object') throw invalid('the message must be an object')
  if (stringOf(text, at(root, 'jsonrpc')) !== '2.0') throw invalid('jsonrpc must be "2.0"')
  const method = at(root, 'method')
  const id = at(root, 'id')
  if (method === undefined) {
    if (answers(root)) return { kind: 'response' }
    throw invalid('method is missing')
  }
  if (answers(root)) throw invalid('a message is either a request or a response')
  const name = stringOf(text, method)
  if (name === undefined) throw invalid('method must be a string')
  const params = at(root, 'params')
  if (params !== undefined && params.kind !== 'object') throw invalid('params must be an object')
  if (id === undefined) return { kind: 'notification', method: name }
  if (!isId(text, id)) throw invalid('id must be a string or an integer')
  return { kind: 'request', id: textOf(text, id), method: name }
}

/** The id's bytes, if it is one that an answer can have: that of a response is not the client's own. */
export function idOf(text: Buffer, root: Value): Buffer | undefined {
  const id = at(root, 'id')
  if (at(root, 'method') === undefined && answers(root)) return undefined
  return id !== undefined && isId(text, id) ? textOf(text, id) : undefined
}

const answers = (root: Value): boolean => at(root, 'result') !== undefined || at(root, 'error') !== undefined

const isId = (text: Buffer, id: Value): boolean =>
  id.kind === 'string' || (id.kind === 'number' && INTEGER.test(text.toString('latin1', id.start, id.end)))

const INTEGER = /^-?\d+$/

const invalid = (message: string): ProtocolError => new ProtocolError(-32600, message)
