import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Answer } from '../mcp/request.ts'
import type { Log } from '../observe/log.ts'
import { createEventStream, type EventStream } from './eventStream.ts'
import { errorBody, isUnforeseen, wireError } from './reply.ts'

export interface AnswerOptions {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: Buffer
  readonly accepts: { readonly json: boolean; readonly sse: boolean }
  readonly clock: Clock
  readonly log: Log
}

/** Silence after which a stream begins, so that nothing on the way takes the request for dead. */
const SILENCE_MS = 10_000
const COMMENT_MS = 15_000
const STUCK_MS = 30_000

/**
 * The answer to one request: plain JSON where nothing came before it, else SSE from the first notification on
 * or after 10 s of silence (M-HTTP-06, M-MRTR-17). A client that takes no stream gets no notifications.
 */
export function createAnswer({ response, id, accepts, clock, log }: AnswerOptions): Answer {
  let stream: EventStream | undefined
  let ended = false
  let gone = false
  let left: (() => void)[] = []
  const stopSilence = accepts.sse ? clock.after(SILENCE_MS, () => void begin()) : () => undefined

  response.on('close', () => {
    stopSilence()
    stream?.stop()
    if (response.writableFinished) return
    gone = true
    for (const tell of left) tell()
    left = []
  })

  function begin(): EventStream | undefined {
    if (stream === undefined && accepts.sse && !ended && !gone) {
      stopSilence()
      stream = createEventStream({ response, clock, commentMs: COMMENT_MS, stuckMs: STUCK_MS })
    }
    return stream
  }

  function finish(parts: readonly Buffer[], status: number, headers: Readonly<Record<string, string>> = {}): void {
    if (ended || gone) return
    stopSilence()
    if (stream === undefined && !accepts.json && status === 200) begin()
    ended = true
    if (stream !== undefined) {
      try {
        stream.end(Buffer.concat(parts))
      } catch (error) {
        stream.end(errorBody(id, wireError(error, true).error))
      }
      return
    }
    let length = 0
    for (const part of parts) length += part.length
    response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length })
    if (parts.length === 1) response.end(parts[0])
    else {
      response.cork()
      for (const part of parts) response.write(part)
      response.end()
    }
  }

  return {
    get open() {
      return !ended && !gone
    },
    get streaming() {
      return stream !== undefined
    },
    notify(message) {
      if (ended || gone) return
      try {
        begin()?.send(message)
      } catch (error) {
        // A line break inside a string: such a notification would forge events, and the call goes on without it.
        log.debug({ error: error instanceof Error ? error.message : '' }, 'a notification was dropped')
      }
    },
    end: (message, status = 200) => finish(message, status),
    fail(error) {
      if (ended || gone) return
      const { status, headers, error: body } = wireError(error, stream !== undefined)
      if (isUnforeseen(error)) log.error({ err: error }, 'unforeseen')
      finish([errorBody(id, body)], status, headers)
    },
    onLeave(tell) {
      if (gone) tell()
      else left.push(tell)
    },
  }
}
