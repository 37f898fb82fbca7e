import { GatewayError, type GatewayReason, ProtocolError, UpstreamRefusal } from '../errors.ts'
import { ScanError } from '../mcp/scan.ts'
import type { Log } from '../observe/log.ts'

/** An error as it goes over the wire. */
export interface WireError {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly error: { readonly code: number; readonly message: string; readonly data?: object }
}

/** The gateway's own errors (design §9): status and JSON-RPC code. */
const GATEWAY: Readonly<Record<GatewayReason, { status: number; code: number; word?: string }>> = {
  state_rejected: { status: 200, code: -32602, word: 'invalid_request_state' },
  exchange_lost: { status: 200, code: -32602 },
  invalid_input_response: { status: 200, code: -32602 },
  declined: { status: 200, code: -32603 },
  upstream_unauthorized: { status: 200, code: -32603 },
  upstream_unreachable: { status: 502, code: -32603 },
  upstream_closed: { status: 502, code: -32603 },
  upstream_protocol: { status: 502, code: -32603 },
  upstream_timeout: { status: 504, code: -32603 },
  overloaded: { status: 503, code: -32603 },
  draining: { status: 503, code: -32603 },
  relay_unavailable: { status: 503, code: -32603 },
}

const ALLOW = { allow: 'POST' }

/** Maps whatever was thrown; what nobody foresaw tells a client nothing. */
export function wireError(thrown: unknown, streaming: boolean): WireError {
  if (thrown instanceof GatewayError) return gatewayError(thrown)
  if (thrown instanceof ProtocolError) {
    const { status, code, message, data } = thrown
    return { status, headers: status === 405 ? ALLOW : {}, error: { code, message, ...(data && { data }) } }
  }
  if (thrown instanceof UpstreamRefusal) {
    const headers: Record<string, string> =
      thrown.challenge === undefined ? {} : { 'www-authenticate': thrown.challenge }
    const error = { code: -32603, message: thrown.message, data: { reason: 'upstream_unauthorized' } }
    return { status: thrown.status, headers: streaming ? {} : headers, error }
  }
  if (thrown instanceof ScanError) {
    const malformed = thrown.reason === 'syntax' || thrown.reason === 'truncated'
    return { status: 400, headers: {}, error: { code: malformed ? -32700 : -32600, message: thrown.message } }
  }
  return { status: 500, headers: {}, error: { code: -32603, message: 'internal error' } }
}

function gatewayError({ reason, message, details }: GatewayError): WireError {
  const { status, code, word } = GATEWAY[reason]
  const busy = status === 503
  const headers: Record<string, string> = busy ? { 'retry-after': String(details.retryAfterS ?? 1) } : {}
  return {
    status: busy && details.ownLimit ? 429 : status,
    headers,
    error: { code, message, data: { ...details.data, reason: word ?? reason } },
  }
}

/**
 * Logs what an answer failed by: of our own errors the words, of what nobody foresaw the stack. What the
 * protocol or the client is at fault for is not worth a line.
 */
export function noteFailure(log: Log, thrown: unknown): void {
  if (thrown instanceof GatewayError) {
    const { reason, details } = thrown
    const cause = details.cause instanceof Error ? details.cause.message : undefined
    log.info({ reason, inner: details.inner, cause }, 'failed')
  } else if (![ProtocolError, UpstreamRefusal, ScanError].some((known) => thrown instanceof known)) {
    log.error({ err: thrown }, 'unforeseen')
  }
}

/** The JSON-RPC error response; without an id that could be read there is no id (M-BASE-03). */
export function errorBody(id: Buffer | undefined, error: WireError['error']): Buffer {
  const head = id === undefined ? '{"jsonrpc":"2.0","error":' : `{"jsonrpc":"2.0","id":${id},"error":`
  return Buffer.from(`${head}${JSON.stringify(error)}}`)
}
