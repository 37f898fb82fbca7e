import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { GatewayError, UpstreamUpgraded } from '../errors.ts'
import type { Answer } from '../mcp/request.ts'
import { ScanError } from '../mcp/scan.ts'
import type { Log } from '../observe/log.ts'
import { createEventStream, type EventStream } from './eventStream.ts'
import { createOutbox } from './outbox.ts'
import { errorBody, noteFailure, wireError } from './reply.ts'

export interface AnswerOptions {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: Buffer
  readonly accepts: { readonly json: boolean; readonly sse: boolean }
  readonly clock: Clock
  readonly log: Log
  /** Answers in our place, if the upstream turns out to need no translation before anything was sent. */
  readonly upgraded?: (() => void) | undefined
  /** Silence after which a stream begins, so that nothing on the way takes the request for dead. */
  readonly silenceMs?: number
  /** Silence on a stream after which a comment is sent. */
  readonly commentMs?: number
  /** A reader that takes nothing for this long is dropped. */
  readonly stuckMs?: number
}

/**
 * The answer to one request: plain JSON where nothing came before it, else SSE from the first notification on
 * or after 10 s of silence (M-HTTP-06, M-HTTP-10). A client that takes no stream gets no notifications; one
 * that takes nothing else gets its result as the only event, and errors that come before it as JSON, since
 * their status matters more.
 */
export function createAnswer(options: AnswerOptions): Answer {
  const { request, response, accepts, clock, log } = options
  // Copied: an answer may outlive its request's bytes by hours.
  const id = Buffer.from(options.id)
  const { silenceMs = 10_000, commentMs = 15_000, stuckMs = 30_000 } = options
  /** Forgotten with the first event, since it holds the request. */
  let { upgraded } = options
  let stream: EventStream | undefined
  let ended = false
  let complete = false
  let gone = response.destroyed
  let leaving: (() => void)[] = []
  const stopSilence =
    accepts.sse && !gone ? clock.after(silenceMs, () => begin()?.comment()) : () => undefined

  response.on('finish', () => {
    // Node says so too of what a destroyed connection took with it.
    complete = !request.socket.destroyed
  })
  response.on('close', () => {
    stopSilence()
    if (complete || gone) return
    gone = true
    for (const tell of leaving) tellLeft(tell)
    leaving = []
  })

  function begin(): EventStream | undefined {
    if (stream === undefined && accepts.sse && !ended && !gone) {
      stopSilence()
      upgraded = undefined
      stream = createEventStream({ response, clock, commentMs, stuckMs })
    }
    return stream
  }

  function finish(
    parts: readonly Buffer[],
    status: number,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    stopSilence()
    const last = accepts.json || status !== 200 ? stream : begin()
    ended = true
    if (last !== undefined) {
      last.end(parts)
      return
    }
    let length = 0
    for (const part of parts) length += part.length
    response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length })
    createOutbox({ response, clock, stuckMs }).end(parts)
  }

  function fail(error: unknown): void {
    if (ended || gone) return
    if (error instanceof UpstreamUpgraded && upgraded !== undefined) {
      stopSilence()
      ended = true
      leaving = []
      upgraded()
      return
    }
    noteFailure(log, error)
    const { status, headers, error: body } = wireError(error, stream !== undefined)
    finish([errorBody(id, body)], status, headers)
  }

  function tellLeft(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      noteFailure(log, error)
    }
  }

  return {
    get open() {
      return !ended && !gone
    },
    get streaming() {
      return stream !== undefined
    },
    takesStream: accepts.sse,
    notify(message) {
      if (ended || gone || !accepts.sse) return
      try {
        begin()?.send(message)
      } catch (error) {
        // A line break inside a string: such a notification would forge events, and the call goes on without it.
        log.debug({ error: error instanceof Error ? error.message : '' }, 'a notification was dropped')
      }
    },
    end(message, status = 200) {
      if (ended || gone) return
      try {
        finish(message, status)
      } catch (cause) {
        if (!(cause instanceof ScanError)) throw cause
        ended = false
        fail(
          new GatewayError('upstream_protocol', 'the upstream sent a raw line break in a string', { cause }),
        )
      }
    },
    fail,
    onLeave(left) {
      if (gone) tellLeft(left)
      else leaving.push(left)
    },
  }
}
