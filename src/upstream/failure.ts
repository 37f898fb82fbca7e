import { GatewayError } from '../errors.ts'
import { codeOf, type IncomingResponse, readMessages } from '../mcp/message.ts'
import type { Refused } from './post.ts'
import { refusal } from './sseChannel.ts'

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
 * What a non-2xx to a call means (X-ERR-09): the client's credentials, a dead session, or the upstream's own
 * JSON-RPC error. Only a 404 to a request with a session id says that nothing ran (L-HTTP-08); an error that
 * names the session in its text ends the session but says nothing about the call.
 */
export function refusedCall(
  refused: Refused,
  sessionful: boolean,
): { failure?: CallFailure; response?: IncomingResponse } {
  const unauthorized = refusal(refused)
  if (unauthorized !== undefined)
    return { failure: { error: unauthorized, notRun: true, lost: false, fault: false } }
  const response = errorIn(refused.body)
  const code = response === undefined ? undefined : codeOf(response)
  const status = `the upstream answered ${refused.status}`

  if (refused.status === 404 && sessionful && code !== -32601) {
    return {
      failure: {
        error: new GatewayError('upstream_closed', `${status}: the session is gone`),
        notRun: true,
        lost: true,
        fault: false,
      },
    }
  }
  if (sessionful && namesDeadSession(refused.body)) {
    return {
      failure: {
        error: new GatewayError('upstream_closed', `${status}: the session is gone`),
        notRun: false,
        lost: true,
        fault: false,
      },
    }
  }
  if (response !== undefined) return { response }
  const reason = refused.status >= 500 ? 'upstream_unreachable' : 'upstream_protocol'
  return { failure: { error: new GatewayError(reason, status), notRun: false, lost: false, fault: false } }
}

/** An error text that speaks of a session which is not there; a plain "bad parameters" does not (case 3). */
export function namesDeadSession(body: Buffer): boolean {
  return DEAD_SESSION.test(body.subarray(0, 2048).toString())
}

const DEAD_SESSION =
  /\bsession\b[^"]{0,40}\b(not found|unknown|invalid|expired|missing|terminated|does not exist|not initialized|required)|\b(no valid|invalid|unknown|missing|expired|no such|no active)\b[^"]{0,20}\bsession\b/i

function errorIn(body: Buffer): IncomingResponse | undefined {
  try {
    const [message] = readMessages(body)
    return message?.kind === 'response' && !message.ok ? message : undefined
  } catch {
    return undefined
  }
}
