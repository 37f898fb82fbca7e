import { GatewayError, UpstreamRefusal } from '../errors.ts'
import { codeOf, type IncomingResponse, readMessages } from '../mcp/message.ts'
import type { Refused } from './post.ts'

/** Why a call has no response. */
export interface CallFailure {
  /** GatewayError or UpstreamRefusal. */
  readonly error: Error
  /** It provably did not run, so that sending it again is safe. */
  readonly notRun: boolean
  /** The session is gone. */
  readonly lost: boolean
  /** The upstream broke the protocol; the session is not used again. */
  readonly fault: boolean
}

/**
 * What a non-2xx to the call of this id means (X-ERR-09): the client's credentials, a dead session, or the
 * upstream's own JSON-RPC error. A 404 to a request with a session id says that nothing ran (L-HTTP-08), unless
 * its body explains it otherwise; an error that names the session ends the session but says nothing about the
 * call.
 */
export function refusedCall(
  id: number,
  refused: Refused,
  sessionful: boolean,
): { failure: CallFailure } | { response: IncomingResponse } {
  const unauthorized = refusal(refused)
  if (unauthorized !== undefined) {
    return { failure: { error: unauthorized, notRun: true, lost: false, fault: false } }
  }
  const response = errorIn(refused)
  if (response !== undefined && isModern(codeOf(response))) return gone(refused, true)
  if (sessionful && refused.status === 404 && !explained(id, refused, response)) return gone(refused, true)
  if (sessionful && namesDeadSession(refused.body)) return gone(refused, refused.status === 404)
  if (response !== undefined) return { response }
  // Some answer 503 for ever to a session that they lost: the next call gets another one (case 2).
  const fault = sessionful && refused.status === 503
  return { failure: { error: refusedError(refused), notRun: false, lost: false, fault } }
}

function gone({ status }: Refused, notRun: boolean): { failure: CallFailure } {
  const error = new GatewayError('upstream_closed', `the upstream answered ${status}: the session is gone`)
  return { failure: { error, notRun, lost: true, fault: false } }
}

/** Only modern servers fail so (M-VER-07): the one that had the session was upgraded. */
const isModern = (code = 0): boolean => code <= -32020 && code >= -32022

/** Something else than a lost session explains this 404 (design §4.12). */
function explained(id: number, { body }: Refused, response: IncomingResponse | undefined): boolean {
  if (namesDeadSession(body)) return false
  if (response !== undefined && codeOf(response) === -32601) return true
  return idOf(response) === id || /protocol.?version/i.test(headOf(body))
}

/** A refusal in the gateway's words. */
export function refusedError({ status }: Refused): GatewayError {
  const reason = status >= 500 || status === 429 ? 'upstream_unreachable' : 'upstream_protocol'
  return new GatewayError(reason, `the upstream answered ${status}`)
}

/** A 401 or 403, which is the client's to see. */
export function refusal({ status, headers }: Refused): UpstreamRefusal | undefined {
  return status === 401 || status === 403
    ? new UpstreamRefusal(status, challengeIn(headers['www-authenticate']))
    : undefined
}

/** Several challenges may come in several lines; one line says the same (RFC 9110 §11.6.1). */
function challengeIn(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

/** An error text that speaks of a session which is not there; a plain "bad parameters" does not (case 3). */
export function namesDeadSession(body: Buffer): boolean {
  return DEAD_SESSION.test(headOf(body))
}

const DEAD_SESSION =
  /\bsession\b[^"]{0,40}\b(not found|unknown|invalid|expired|missing|terminated|does not exist|not initialized|required)|\b(no valid|invalid|unknown|missing|expired|no such|no active)\b[^"]{0,20}\bsession\b/i

const headOf = (body: Buffer): string => body.subarray(0, 2048).toString()

/** The JSON-RPC error that a refusal carries, if it does. */
export function errorIn({ body }: Refused): IncomingResponse | undefined {
  try {
    const [message] = readMessages(body)
    return message?.kind === 'response' && !message.ok ? message : undefined
  } catch {
    return undefined
  }
}

/** The number that a response's id is, also if the upstream made a string of it; else NaN. */
export function idOf(response: IncomingResponse | undefined): number {
  const id = response?.id?.toString('latin1')
  return id === undefined || !OUR_ID.test(id) ? Number.NaN : Number(id.replaceAll('"', ''))
}

const OUR_ID = /^(\d{1,16}|"\d{1,16}")$/
