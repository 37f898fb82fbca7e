import type { Clock } from '../clock.ts'
import type { GatewayError } from '../errors.ts'
import type { Incoming } from '../mcp/message.ts'
import type { ResponseSink } from './post.ts'
import type { Wire, WireCall } from './wire.ts'

export type Headers = Readonly<Record<string, string>>

/** What comes from the upstream outside of the responses to our POSTs. */
export interface SharedSink {
  message(message: Incoming): void
  /** The channel is gone, and every call on it. */
  lost(error: GatewayError): void
  /** The stream for server messages dropped and cannot be had again; calls still work. */
  deaf(): void
}

export interface ChannelOptions {
  readonly wire: Wire
  readonly url: URL
  /** Fixed headers of the route. */
  readonly headers: Headers
  readonly clock: Clock
}

/** The answer to the wish for a stream of server messages; the last two are worth another try. */
export type Listening = 'open' | 'none' | 'early' | 'busy'

/** The transport under one session. */
export interface Channel {
  readonly kind: 'streamable-http' | 'http+sse'
  /** Server messages can come outside of the responses to our POSTs. */
  listening(): boolean
  /** The upstream tells sessions apart. */
  sessionful(): boolean
  /** POSTs a message that draws no response; `credentials` are the headers of whom it is sent for. */
  post(message: Buffer, credentials: Headers, sink: ResponseSink): WireCall
  /** POSTs a request; its stream is taken up again where it breaks and the transport can. */
  call(message: Buffer, credentials: Headers, sink: ResponseSink): WireCall
  /**
   * Opens the stream for server messages if the transport has one apart.
   *
   * @throws UpstreamRefusal (401)
   */
  listen(credentials: Headers): Promise<Listening>
  /** The revision is negotiated: requests carry it where it asks for that (L-HTTP-10). */
  negotiated(revision: string): void
  /** Ends the session upstream where that can be said (DELETE, at most 5 s), then all streams. */
  close(credentials: Headers): Promise<void>
}

/** Headers of every POST: both types, in this order, since some servers compare the text (case 30). */
export const POST_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const

const FIRST_WITH_HEADER = '2025-06-18'

/** The version header, from the revision on that brought it and never before it is negotiated (L-HTTP-10). */
export function versionHeader(revision: string | undefined): Headers {
  return revision !== undefined && revision >= FIRST_WITH_HEADER ? { 'mcp-protocol-version': revision } : {}
}
