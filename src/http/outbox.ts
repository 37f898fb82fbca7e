import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'

export interface OutboxOptions {
  readonly response: ServerResponse
  readonly clock: Clock
  /** A reader that takes nothing for this long is dropped. */
  readonly stuckMs: number
}

/** What may wait for a slow reader, beside the last message. */
const MAX_WAITING_BYTES = 1024 * 1024
/** A long message goes out in slices, so that a slow reader is told from a stuck one. */
const SLICE_BYTES = 64 * 1024

/**
 * The body of one response, written at its reader's pace: what may be lost waits in a bounded queue, newest
 * kept; the end of it is never lost. A reader that is stuck with bytes unsent loses its connection.
 */
export function createOutbox({ response, clock, stuckMs }: OutboxOptions) {
  const waiting: Buffer[] = []
  let waitingBytes = 0
  let last: Buffer[] | undefined
  let next = 0
  let blocked = false
  let stopStuck = (): void => undefined

  response.on('drain', () => {
    blocked = false
    stopStuck()
    pump()
  })
  response.on('close', () => stopStuck())

  function write(bytes: Buffer): void {
    if (response.write(bytes)) return
    blocked = true
    watch()
  }

  function watch(): void {
    stopStuck()
    stopStuck = clock.after(stuckMs, () => response.destroy())
  }

  function pump(): void {
    while (!blocked) {
      const bytes = waiting.shift()
      if (bytes === undefined) break
      waitingBytes -= bytes.length
      write(bytes)
    }
    if (last === undefined) return
    while (!blocked && next < last.length - 1) write(last[next++] ?? Buffer.alloc(0))
    if (blocked) return
    response.end(last[next])
    last = undefined
    watch()
  }

  return {
    /** Bytes are waiting for the reader. */
    blocked: () => blocked,
    /** Writes now, or when the reader is ready; if too much waits then, the oldest is dropped. */
    offer(bytes: Buffer): void {
      if (!blocked) {
        write(bytes)
        return
      }
      waiting.push(bytes)
      waitingBytes += bytes.length
      while (waitingBytes > MAX_WAITING_BYTES) waitingBytes -= waiting.shift()?.length ?? 0
    },
    /** Writes what waits and then `parts`, and ends the response. */
    end(parts: readonly Buffer[]): void {
      last = sliced(parts)
      next = 0
      pump()
    },
  }
}

/** The same bytes in pieces of a size to send at once; copies only what is small. */
function sliced(parts: readonly Buffer[]): Buffer[] {
  let bytes = 0
  for (const part of parts) bytes += part.length
  if (bytes <= SLICE_BYTES) return [parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, bytes)]
  const slices: Buffer[] = []
  for (const part of parts) {
    for (let at = 0; at < part.length; at += SLICE_BYTES) slices.push(part.subarray(at, at + SLICE_BYTES))
  }
  return slices
}
