import type { Headers } from './channel.ts'
import type { ResponseSink } from './post.ts'
import type { WireCall } from './wire.ts'

/** What the streams of a Streamable HTTP session need of it. */
export interface Requests {
  /** A POST of `body`, or a GET if there is none, with the session's headers. */
  send(credentials: Headers, own: Headers, sink: ResponseSink, body?: Buffer): WireCall
  /** Calls back after `ms`, unless the channel is closed by then. */
  later(ms: number, act: () => void): void
  closed(): boolean
}

/** A GET that takes an event stream, continued after the event of this id. */
export function streamHeaders(lastEventId?: string): Headers {
  return lastEventId === undefined
    ? { accept: 'text/event-stream' }
    : { accept: 'text/event-stream', 'last-event-id': lastEventId }
}

/** How long to wait before coming back to a stream that told no `retry:`, after so many barren ones. */
export function patience(toldMs: number | undefined, barren: number): number {
  // A server may say 0, but not have us come back without a breath.
  return toldMs === undefined
    ? Math.min(FIRST_RETRY_MS * 2 ** barren, LAST_RETRY_MS)
    : Math.max(toldMs, FIRST_RETRY_MS)
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 5_000
