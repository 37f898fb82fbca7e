import type { ParamHeaders } from './paramHeaders.ts'
import type { Value } from './scan.ts'

/** What a modern request's own `_meta` declares (basic §_meta); it holds for this one HTTP request alone. */
export interface Envelope {
  readonly version: string
  /** The declared client capabilities, parsed. */
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly logLevel: string | undefined
  /** The progress token's JSON bytes, as the client wrote them. */
  readonly progressToken: Buffer | undefined
}

/** Who sends a request, in the two ways that matter (design §2). */
export interface Caller {
  /** Keyed digest of who is calling, stable in this process; key of maps. */
  readonly principal: string
  /** The same under the token key named `kid`, for binding into request states. */
  principalFor(kid: string): Buffer
  /** Keyed digest of the credential this request carries, stable in this process; key of maps. */
  readonly context: string
  /** No credential at all was presented. */
  readonly anonymous: boolean
  /** Headers to send upstream on this caller's behalf, lower-case names. */
  readonly credentials: Readonly<Record<string, string>>
}

/** A request of revision 2026-07-28 that passed the door; nobody reads headers after it, save what is here. */
export interface ModernRequest {
  /** The body's bytes and its scanned outline. */
  readonly text: Buffer
  readonly root: Value
  /** The JSON-RPC id's bytes as the client wrote them. */
  readonly id: Buffer
  readonly method: string
  readonly envelope: Envelope
  readonly caller: Caller
  /** `Mcp-Param-*`, for those who know which of them the request must have. */
  readonly paramHeaders: ParamHeaders
}

/** The client's side of one request: at most notifications, then exactly one terminal message. */
export interface Answer {
  /** Neither answered nor left. */
  readonly open: boolean
  /** A stream has begun, so that errors can only be in-band. */
  readonly streaming: boolean
  /** Its client takes an event stream. */
  readonly takesStream: boolean
  /**
   * Sends one JSON-RPC notification; the first one begins the event stream. Without effect for a client
   * that takes no event stream, or after the answer.
   */
  notify(message: Buffer): void
  /** Sends the terminal message, given in parts to be joined; `status` counts while no stream has begun. */
  end(message: readonly Buffer[], status?: number): void
  /** Sends `error` as the terminal message, by the table of `http/reply`. */
  fail(error: unknown): void
  /** Calls back once if the client goes before its answer was complete; at once if it already has. */
  onLeave(left: () => void): void
}
