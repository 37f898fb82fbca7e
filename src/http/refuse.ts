import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Log } from '../observe/log.ts'
import { ClientGone } from './body.ts'
import { errorBody, noteFailure, wireError } from './reply.ts'

export interface Refusal {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly error: unknown
  /** The JSON-RPC id, if it could be read. */
  readonly id?: Buffer | undefined
  /** The connection cannot be used again, because the rest of the body will not be read. */
  readonly cut?: boolean
  readonly log: Log
  readonly clock: Clock
}

/** How long a client that is still sending gets to see its answer; a reset would take it away. */
const LINGER_MS = 1_000

const RAW_STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Answers a request that did not get past the door, unless its client has gone. */
export function refuse({ request, response, error, id, cut, log, clock }: Refusal): void {
  if (error instanceof ClientGone || response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  noteFailure(log, error)
  const { status, headers, error: body } = wireError(error, false)
  const bytes = errorBody(id, body)
  response.writeHead(status, {
    ...headers,
    ...(cut && { connection: 'close' }),
    'content-type': 'application/json',
    'content-length': bytes.length,
  })
  if (!cut || request.complete) {
    response.end(bytes)
    return
  }
  response.write(bytes)
  const stop = clock.after(LINGER_MS, () => response.end())
  request.on('end', () => response.end())
  response.on('close', stop)
  request.resume()
}

/** The answer to what is no HTTP request, by Node's code. */
export function rawRefusal(code = ''): string {
  const status = RAW_STATUS[code] ?? '400 Bad Request'
  const body = errorBody(undefined, { code: -32600, message: status.slice(4).toLowerCase() }).toString()
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}
