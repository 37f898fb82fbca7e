import { createParser } from 'eventsource-parser'

/** One event as it came; `event` and `id` are undefined where the event had no such field. */
export interface SseEvent {
  readonly event: string | undefined
  readonly data: Buffer
  readonly id: string | undefined
}

export interface SseListener {
  event(event: SseEvent): void
  /** The server asks for this reconnection delay. */
  retry?(ms: number): void
  /** A comment came: the stream is alive. */
  comment?(): void
}

export interface SseReaderOptions {
  /** Bytes that one event may have as it is written, field names included; default 32 MiB. */
  readonly maxEventBytes?: number
}

/** An event outgrew `maxEventBytes`; the reader takes nothing more. */
export class SseTooLarge extends Error {
  constructor(maxEventBytes: number) {
    super(`an event passed ${maxEventBytes} bytes`)
    this.name = 'SseTooLarge'
  }
}

/** The byte order mark as latin1 sees it. */
const BOM = '\u00ef\u00bb\u00bf'

export type SseReader = ReturnType<typeof createSseReader>

/**
 * Reads an event stream (HTML §9.2) from chunks cut anywhere; LF, CR and CRLF end lines, also mixed.
 *
 * The parser works on strings; latin1 makes a character of every byte, so nothing is decoded, split or
 * replaced on the way. A listener that throws ends the reader: the error passes through `push`.
 */
export function createSseReader(
  on: SseListener,
  { maxEventBytes = 32 * 1024 * 1024 }: SseReaderOptions = {},
) {
  let opening: string | undefined = ''
  let afterCr = false
  let written = 0
  let failure: unknown

  const parser = createParser({
    onEvent({ event, data, id }) {
      if (data.length > maxEventBytes) throw new SseTooLarge(maxEventBytes)
      written = 0
      on.event({ event: fromLatin1(event), data: Buffer.from(data, 'latin1'), id: fromLatin1(id) })
    },
    onRetry(ms) {
      if (Number.isSafeInteger(ms)) on.retry?.(ms)
    },
    onComment(comment) {
      written -= comment.length + 2 // it is not kept, nor its colon and line end
      on.comment?.()
    },
  })
  parser.feed('') // it looks for a byte order mark in its first chunk only; we look ourselves, see `afterBom`

  /**
   * Takes the next bytes of the stream and calls the listener for what they complete.
   * @throws SseTooLarge, also for every later call
   */
  function push(chunk: Buffer): void {
    if (failure !== undefined) throw failure
    try {
      const chars = toLf(afterBom(chunk.toString('latin1')))
      written += chars.length
      parser.feed(chars)
      // The parser's own limit counts data only; each of its lines costs memory even if it is empty.
      if (chars.endsWith('\n\n')) written = 0
      if (written > maxEventBytes) throw new SseTooLarge(maxEventBytes)
    } catch (error) {
      failure = error
      throw error
    }
  }

  /** The first characters without a byte order mark; held back while they may still become one. */
  function afterBom(chars: string): string {
    if (opening === undefined) return chars
    opening += chars
    if (opening.length < BOM.length && BOM.startsWith(opening)) return ''
    const rest = opening.startsWith(BOM) ? opening.slice(BOM.length) : opening
    opening = undefined
    return rest
  }

  /** The parser waits for what follows a CR; a LF is clear at once, and the one that belonged to a CR is dropped. */
  function toLf(chars: string): string {
    if (chars === '') return chars
    const rest = afterCr && chars.startsWith('\n') ? chars.slice(1) : chars
    afterCr = chars.endsWith('\r')
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest
  }

  /** The stream is over; an event without its blank line is dropped, as the standard says. */
  function end(): void {
    parser.reset()
  }

  return { push, end }
}

function fromLatin1(chars: string | undefined): string | undefined {
  return chars === undefined ? undefined : Buffer.from(chars, 'latin1').toString()
}
