/** What went wrong in the gateway itself; the word is also `data.reason` of the JSON-RPC error. */
export type GatewayReason =
  | 'state_rejected'
  | 'exchange_lost'
  | 'invalid_input_response'
  | 'declined'
  | 'upstream_unauthorized'
  | 'upstream_unreachable'
  | 'upstream_closed'
  | 'upstream_protocol'
  | 'upstream_timeout'
  | 'overloaded'
  | 'draining'
  | 'relay_unavailable'

export interface GatewayErrorDetails {
  /** What caused it; goes to the log, never to a client. */
  readonly cause?: unknown
  /** Members that join `reason` in the error's `data`. */
  readonly data?: Readonly<Record<string, unknown>>
  /** Seconds for `Retry-After`; 1 where the status needs one and none is given. */
  readonly retryAfterS?: number
  /** The limit belongs to one principal or address: status 429 in place of 503. */
  readonly ownLimit?: boolean
  /** An inner word for the log and the metrics; never shown to a client. */
  readonly inner?: string
}

/** An error of the gateway's own making, mapped to HTTP and JSON-RPC in `http/reply`. */
export class GatewayError extends Error {
  readonly reason: GatewayReason
  readonly details: GatewayErrorDetails

  constructor(reason: GatewayReason, message: string, details: GatewayErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'GatewayError'
    this.reason = reason
    this.details = details
  }
}

/** An error that the protocol defines; `code` crosses the wire, `status` only while no stream has begun. */
export class ProtocolError extends Error {
  readonly code: number
  readonly status: number
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: number, message: string, status = 400, data?: Readonly<Record<string, unknown>>) {
    super(message)
    this.name = 'ProtocolError'
    this.code = code
    this.status = status
    this.data = data
  }
}

/**
 * A 401 or 403 of the upstream, which passes to the client with its status and challenge while that is
 * possible, and in-band as `upstream_unauthorized` once a stream has begun (authorization §Error Handling).
 */
export class UpstreamRefusal extends Error {
  readonly status: 401 | 403
  readonly challenge: string | undefined

  constructor(status: 401 | 403, challenge: string | undefined) {
    super(`the upstream answered ${status}`)
    this.name = 'UpstreamRefusal'
    this.status = status
    this.challenge = challenge
  }
}

/** The upstream that a session was wanted of is modern by now: nothing ran, and the request may go to it as it is. */
export class UpstreamUpgraded extends GatewayError {
  constructor(cause: unknown) {
    super('upstream_closed', 'the upstream was upgraded', { cause })
    this.name = 'UpstreamUpgraded'
  }
}
