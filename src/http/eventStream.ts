import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { oneLine } from '../mcp/oneLine.ts'

const MAX_BUFFERED_BYTES = 1024 * 1024
const HEAD = Buffer.from('event: message\ndata: ')
const TAIL = Buffer.from('\n\n')
const COMMENT = ':\n\n'

export interface EventStreamOptions {
  readonly response: ServerResponse
  readonly clock: Clock
  readonly commentMs: number
  /** A reader that takes nothing for this long is dropped. */
  readonly stuckMs: number
}

/** An SSE response (design §11): headers at once, comments against idle cuts, one `data:` line an event, no ids. */
export function createEventStream({ response, clock, commentMs, stuckMs }: EventStreamOptions) {
  const waiting: Buffer[] = []
  let waitingBytes = 0
  let blocked = false
  let lastWriteMs = clock.now()
  let stopStuck = (): void => undefined
  let stopComments = (): void => undefined

  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
  response.on('drain', drained)
  comments(commentMs)

  function comments(ms: number): void {
    stopComments = clock.after(ms, () => {
      const idleMs = clock.now() - lastWriteMs
      if (idleMs < commentMs) return comments(Math.ceil(commentMs - idleMs))
      if (!blocked) write(COMMENT)
      comments(commentMs)
    })
  }

  function write(bytes: Buffer | string): void {
    lastWriteMs = clock.now()
    if (response.write(bytes) || blocked) return
    blocked = true
    stopStuck = clock.after(stuckMs, () => response.destroy())
  }

  function drained(): void {
    blocked = false
    stopStuck()
    while (!blocked) {
      const next = waiting.shift()
      if (next === undefined) return
      waitingBytes -= next.length
      write(next)
    }
  }

  function stop(): void {
    stopComments()
    stopStuck()
  }

  return {
    /** Sends a message; while the client reads slowly only the newest are kept. */
    send(message: Buffer): void {
      const event = Buffer.concat([HEAD, oneLine(message), TAIL])
      if (!blocked) return write(event)
      waiting.push(event)
      waitingBytes += event.length
      while (waitingBytes > MAX_BUFFERED_BYTES && waiting.length > 1) waitingBytes -= waiting.shift()?.length ?? 0
    },
    /** Sends the last message and ends the stream. */
    end(message: Buffer): void {
      stopComments()
      for (const each of waiting.splice(0)) response.write(each)
      response.write(HEAD)
      response.write(oneLine(message))
      response.end(TAIL)
    },
    stop,
  }
}

export type EventStream = ReturnType<typeof createEventStream>
