import { GatewayError } from '../errors.ts'
import { type Incoming, readMessages } from '../mcp/message.ts'
import { createSseReader } from '../mcp/sseReader.ts'
import {
  headerOf,
  type Wire,
  type WireCall,
  type WireHeaders,
  type WireRequest,
  wireFailure,
} from './wire.ts'

/** A response that is no 2xx. */
export interface Refused {
  readonly status: number
  readonly headers: WireHeaders
  /** At most 64 KiB of it. */
  readonly body: Buffer
}

/** What the response to one request of ours brings; one of the last four is the last call. */
export interface ResponseSink {
  head?(status: number, headers: WireHeaders): void
  /** `streamed` if it is an event among others; otherwise the body is this message, or this batch, alone. */
  message(message: Incoming, streamed: boolean): void
  /** An event id (before the messages of its event), or a wait before coming back: what resuming needs. */
  mark?(mark: { readonly id?: string; readonly retryMs?: number }): void
  /** An SSE event that is no message. */
  other?(event: string, data: Buffer): void
  /** A 2xx that carries no message, such as 202. */
  accepted(): void
  /** The body with its messages is over, whether or not the awaited one was among them. */
  ended(): void
  refused(refused: Refused): void
  /** `sent` is false only if nothing can have reached the upstream. */
  failed(error: GatewayError, sent: boolean): void
}

const MAX_EVENT_BYTES = 32 * 1024 * 1024
const MAX_JSON_BYTES = 64 * 1024 * 1024
const MAX_REFUSAL_BYTES = 64 * 1024

interface BodyReader {
  chunk(bytes: Buffer): void
  end(): void
}

/** Sends a request and reads its response as messages, JSON or SSE, each in its order (L-HTTP-02, L-BASE-02). */
export function exchangeMessages(wire: Wire, request: WireRequest, sink: ResponseSink): WireCall {
  let reader: BodyReader | undefined
  const call = wire.send(request, {
    head(status, headers) {
      guarded(() => {
        sink.head?.(status, headers)
        reader = readerFor(status, headers, sink)
      })
    },
    chunk: (bytes) => guarded(() => reader?.chunk(bytes)),
    end: () => guarded(() => reader?.end()),
    error: (cause, sent) => sink.failed(wireFailure(cause, sent, request.url), sent),
  })

  /** What the upstream sends must not throw past here: the request fails and its socket is closed. */
  function guarded(read: () => void): void {
    try {
      read()
    } catch (cause) {
      call.abort()
      const error =
        cause instanceof GatewayError
          ? cause
          : new GatewayError('upstream_protocol', 'the upstream sent what cannot be read', { cause })
      sink.failed(error, true)
    }
  }
  return call
}

/** Nothing is sent any more: the sink is told as if the connection had failed. */
export function refuseSending(sink: ResponseSink): WireCall {
  let dropped = false
  queueMicrotask(() => {
    if (!dropped) sink.failed(new GatewayError('upstream_closed', 'the session is closed'), false)
  })
  return {
    abort() {
      dropped = true
    },
    pause: () => undefined,
    resume: () => undefined,
  }
}

function readerFor(status: number, headers: WireHeaders, sink: ResponseSink): BodyReader {
  if (status < 200 || status > 299)
    return collect(MAX_REFUSAL_BYTES, true, (body) => sink.refused({ status, headers, body }))
  const type = headerOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type === 'text/event-stream') return events(sink)
  if (status === 200 && type === 'application/json')
    return collect(MAX_JSON_BYTES, false, (body) => json(body, sink))
  return collect(0, true, () => sink.accepted())
}

function json(body: Buffer, sink: ResponseSink): void {
  if (body.length === 0 || body.equals(NULL)) {
    sink.accepted()
    return
  }
  for (const message of readMessages(body)) sink.message(message, false)
  sink.ended()
}

const NULL = Buffer.from('null')

/** Gathers a body up to `maxBytes`; past it the rest is dropped, or the response fails. */
function collect(maxBytes: number, drop: boolean, done: (body: Buffer) => void): BodyReader {
  const chunks: Buffer[] = []
  let length = 0
  return {
    chunk(bytes) {
      if (length + bytes.length > maxBytes) {
        if (drop) return
        throw new GatewayError(
          'upstream_protocol',
          `the upstream's JSON response is longer than ${maxBytes} bytes`,
        )
      }
      length += bytes.length
      chunks.push(bytes)
    },
    end: () => done(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
  }
}

/** SSE events as messages; events with another name and those without data (priming) carry none (L-SSE-02, L-HTTP-04). */
function events(sink: ResponseSink): BodyReader {
  const reader = createSseReader(
    {
      event({ event, data, id }) {
        if (id !== undefined) sink.mark?.({ id })
        if (event !== undefined && event !== 'message') sink.other?.(event, data)
        else if (data.length > 0) for (const message of readMessages(data)) sink.message(message, true)
      },
      retry: (retryMs) => sink.mark?.({ retryMs }),
    },
    { maxEventBytes: MAX_EVENT_BYTES },
  )
  return {
    chunk: (bytes) => reader.push(bytes),
    end() {
      reader.end()
      sink.ended()
    },
  }
}
