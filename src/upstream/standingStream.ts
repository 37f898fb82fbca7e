import type { Clock } from '../clock.ts'
import type { UpstreamRefusal } from '../errors.ts'
import type { Headers, Listening, SharedSink } from './channel.ts'
import { refusal } from './failure.ts'
import { patience, type Requests, streamHeaders } from './requests.ts'
import { headerOf, type WireCall } from './wire.ts'

const HEAD_TIMEOUT_MS = 300
/** Streams that end this often, at once and with nothing said, are none. */
const MAX_BARREN = 3
const LIVELY_MS = 5_000
/** 400: the server wants `initialized` first; 409: it still has our last stream (design §4.7). */
const AGAIN: Readonly<Record<number, Listening>> = { 400: 'early', 409: 'busy' }
/** How often a stream that the upstream still believes open is asked for again. */
const MAX_BUSY = 3

/** One attempt to get the stream. */
interface Attempt {
  readonly told: (verdict: Listening | UpstreamRefusal) => void
  /** There was a stream before this one. */
  readonly again: boolean
  readonly barren: number
  readonly busy: number
}

/**
 * The one GET stream of a Streamable HTTP session (2025-11-25 transports §Listening), opened again when it
 * drops. Some upstreams give a session one stream ever: when it cannot be had again, the session is deaf.
 */
export function createStandingStream(requests: Requests, clock: Clock, shared: SharedSink) {
  let stream: WireCall | undefined
  let lastEventId: string | undefined
  let toldMs: number | undefined
  /** There has been a stream, and it has brought something. */
  let had = false
  let useful = false
  const waiting = new Set<() => void>()

  /** The verdict on the response's head; a head withheld for 300 ms is a stream all the same. */
  function listen(credentials: Headers): Promise<Listening> {
    return new Promise((resolve, reject) => {
      const told = (verdict: Listening | UpstreamRefusal): void => {
        stop()
        waiting.delete(leave)
        if (typeof verdict === 'string') resolve(verdict)
        else reject(verdict)
      }
      const leave = (): void => told('none')
      const stop = clock.after(HEAD_TIMEOUT_MS, () => told('open'))
      waiting.add(leave)
      if (requests.closed()) leave()
      else open(credentials, { told, again: false, barren: 0, busy: 0 })
    })
  }

  function open(credentials: Headers, attempt: Attempt): void {
    const sinceMs = clock.now()
    let heard = false
    const mine = requests.send(credentials, streamHeaders(lastEventId), {
      head(status, received) {
        if (status !== 200) return
        if ((headerOf(received, 'content-type') ?? '').startsWith('text/event-stream')) {
          had = true
          attempt.told('open')
        } else {
          mine.abort()
          gone('none')
        }
      },
      message(message) {
        heard = true
        useful = true
        shared.message(message)
      },
      mark({ id, retryMs }) {
        lastEventId = id ?? lastEventId
        toldMs = retryMs ?? toldMs
      },
      accepted: () => gone('none'),
      ended: () => dropped(false),
      refused: (refused) =>
        gone((refused.status === 401 ? refusal(refused) : undefined) ?? AGAIN[refused.status] ?? 'none'),
      failed: (error) => (error.reason === 'upstream_protocol' ? shared.lost(error) : dropped(true)),
    })
    stream = mine

    /** There is none to be had now. */
    function gone(verdict: Listening | UpstreamRefusal): void {
      if (stream === mine) stream = undefined
      attempt.told(verdict)
      if (requests.closed() || !attempt.again || !had) return
      if (verdict === 'busy' && attempt.busy < MAX_BUSY) {
        reopen({ ...attempt, busy: attempt.busy + 1 }, patience(undefined, attempt.busy))
      } else shared.deaf()
    }

    function dropped(broke: boolean): void {
      if (stream !== mine) return
      stream = undefined
      attempt.told('open')
      const lively = heard || clock.now() - sinceMs > LIVELY_MS
      const barren = lively ? 0 : attempt.barren + 1
      if (barren < MAX_BARREN) {
        reopen({ ...attempt, again: true, barren, busy: 0 }, patience(toldMs, barren))
      } else if (had && (broke || useful)) shared.deaf()
    }

    function reopen(next: Attempt, afterMs: number): void {
      requests.later(afterMs, () => open(credentials, next))
    }
  }

  return {
    listen,
    listening: () => stream !== undefined,
    /** Ends the waiting for a head; the stream itself is the channel's to close. */
    leave() {
      for (const each of waiting) each()
    },
  }
}
