import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { oneLine } from '../mcp/oneLine.ts'
import { createOutbox } from './outbox.ts'

const HEAD = Buffer.from('event: message\ndata: ')
const TAIL = Buffer.from('\n\n')
const COMMENT = Buffer.from(':\n\n')

export interface EventStreamOptions {
  readonly response: ServerResponse
  readonly clock: Clock
  /** Silence after which a comment is sent, so that nothing on the way takes the stream for dead. */
  readonly commentMs: number
  readonly stuckMs: number
}

/**
 * An SSE response (design §11; streamable-http §Receiving Messages): headers at once, comments against idle
 * cuts, one `data:` line an event, no ids.
 */
export function createEventStream({ response, clock, commentMs, stuckMs }: EventStreamOptions) {
  const outbox = createOutbox({ response, clock, stuckMs })
  let lastWriteMs = clock.now()
  let stopComments = (): void => undefined

  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  response.on('close', () => stopComments())
  commentIn(commentMs)

  /** One timer for all writes: it looks back when it fires, instead of being set anew by each. */
  function commentIn(ms: number): void {
    stopComments = clock.after(ms, () => {
      const restMs = commentMs - (clock.now() - lastWriteMs)
      if (restMs >= 1) {
        commentIn(restMs)
        return
      }
      comment()
      commentIn(commentMs)
    })
  }

  /** What waits for the reader already keeps the stream alive. */
  function comment(): void {
    if (!outbox.blocked()) offer(COMMENT)
  }

  function offer(bytes: Buffer): void {
    lastWriteMs = clock.now()
    outbox.offer(bytes)
  }

  return {
    comment,
    /**
     * Sends a message; while the client reads slowly only the newest are kept.
     *
     * @throws ScanError for a raw line break inside a string
     */
    send(message: Buffer): void {
      offer(Buffer.concat([HEAD, oneLine(message), TAIL]))
    },
    /**
     * Sends the last message, whatever waits, and ends the stream.
     *
     * @throws ScanError as `send`; the stream is as it was then
     */
    end(message: readonly Buffer[]): void {
      const broken = message.some((part) => part.includes(0x0a) || part.includes(0x0d))
      const line = broken ? [oneLine(Buffer.concat(message))] : message
      stopComments()
      outbox.end([HEAD, ...line, TAIL])
    },
  }
}

export type EventStream = ReturnType<typeof createEventStream>
