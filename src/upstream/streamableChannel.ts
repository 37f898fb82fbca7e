import { GatewayError } from '../errors.ts'
import {
  type Channel,
  type ChannelOptions,
  type Listening,
  POST_HEADERS,
  type SharedSink,
} from './channel.ts'
import { exchangeMessages, type ResponseSink } from './post.ts'
import { headerOf, type WireCall, type WireHeaders } from './wire.ts'

type Headers = Readonly<Record<string, string>>

const HEAD_TIMEOUT_MS = 300
const CLOSE_TIMEOUT_MS = 5_000
const DEFAULT_RETRY_MS = 100
const MAX_RETRY_MS = 30_000
/** Streams that end this often, at once and with nothing said, are none. */
const MAX_IDLE_STREAMS = 3
const LIVELY_MS = 5_000
const FIRST_WITH_HEADER = '2025-06-18'
/** 400: the server wants `initialized` first; 409: it still has our last stream (design §4.7). */
const AGAIN: Readonly<Record<number, Listening>> = { 400: 'early', 409: 'busy' }
/** What a session id may consist of (2025-11-25 transports §Session Management). */
const SESSION_ID = /^[\x21-\x7e]+$/

/**
 * Streamable HTTP (2025-03-26 to 2025-11-25 transports): every message of ours is a POST with its own
 * response; one GET stream may bring what belongs to none. A POST stream that ends before its response is
 * taken up again with `Last-Event-ID` where the upstream gave event ids (§Resumability).
 */
export function createStreamableChannel(
  { wire, url, headers, clock }: ChannelOptions,
  shared: SharedSink,
): Channel {
  let sessionId: string | undefined
  let revision: string | undefined
  let stream: WireCall | undefined
  let closed = false
  const open = new Set<WireCall>()
  const timers = new Set<() => void>()
  /** Ends the waiting for the head of a stream. */
  const closers = new Set<() => void>()

  const common = (credentials: Headers): Record<string, string> => ({
    ...credentials,
    ...headers,
    ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    ...(revision !== undefined && revision >= FIRST_WITH_HEADER ? { 'mcp-protocol-version': revision } : {}),
  })

  function later(ms: number, act: () => void): void {
    const stop = clock.after(Math.min(ms, MAX_RETRY_MS), () => {
      timers.delete(stop)
      if (!closed) act()
    })
    timers.add(stop)
  }

  function post(body: Buffer, credentials: Headers, sink: ResponseSink): WireCall {
    let lastEventId: string | undefined
    let retryMs = DEFAULT_RETRY_MS
    let answered = false
    let current: WireCall

    const watched: ResponseSink = {
      head(status, received) {
        learnSession(received)
        sink.head?.(status, received)
      },
      message(message) {
        if (message.kind === 'response') answered = true
        sink.message(message)
      },
      mark({ id, retryMs: wait }) {
        lastEventId = id ?? lastEventId
        retryMs = wait ?? retryMs
      },
      accepted: () => over(() => sink.accepted()),
      ended: () => (canResume() ? resume() : over(() => sink.ended())),
      refused: (refused) => over(() => sink.refused(refused)),
      failed: (error, sent) => (canResume() ? resume() : over(() => sink.failed(error, sent))),
    }
    const canResume = (): boolean => !answered && !closed && lastEventId !== undefined

    function resume(): void {
      const from = lastEventId
      // Offered again only if the resumed stream moves on: an id is resumed from once.
      lastEventId = undefined
      later(retryMs, () => {
        open.delete(current)
        current = exchangeMessages(
          wire,
          {
            method: 'GET',
            url,
            headers: { ...common(credentials), accept: 'text/event-stream', 'last-event-id': from ?? '' },
          },
          {
            ...watched,
            refused: ({ status }) =>
              over(() =>
                sink.failed(
                  new GatewayError('upstream_closed', `the broken stream is gone (${status})`),
                  true,
                ),
              ),
          },
        )
        open.add(current)
      })
    }

    function over(tell: () => void): void {
      open.delete(current)
      tell()
    }

    current = exchangeMessages(
      wire,
      { method: 'POST', url, headers: { ...common(credentials), ...POST_HEADERS }, body },
      watched,
    )
    open.add(current)
    return {
      abort() {
        answered = true
        open.delete(current)
        current.abort()
      },
      pause: () => current.pause(),
      resume: () => current.resume(),
    }
  }

  /** The id comes with the answer to `initialize` (§Session Management). */
  function learnSession(received: WireHeaders): void {
    const id = headerOf(received, 'mcp-session-id')
    if (sessionId !== undefined || revision !== undefined || id === undefined) return
    if (!SESSION_ID.test(id))
      throw new GatewayError('upstream_protocol', 'the upstream gave a session id of illegal characters')
    sessionId = id
  }

  function listen(credentials: Headers, lastEventId?: string, idle = 0): Promise<Listening> {
    return new Promise((resolve) => {
      let mine: WireCall | undefined
      let heard = false
      const sinceMs = clock.now()
      let last = lastEventId
      let retryMs = DEFAULT_RETRY_MS
      // A stream whose head is withheld until something is said is a stream all the same.
      const stopTimer = clock.after(HEAD_TIMEOUT_MS, () => resolve('open'))
      const closer = (): void => {
        stopTimer()
        resolve('none')
      }
      closers.add(closer)
      const none = (verdict: Listening): void => {
        stopTimer()
        closers.delete(closer)
        if (stream === mine) stream = undefined
        resolve(verdict)
        if (idle > 0 || lastEventId !== undefined) shared.deaf()
      }
      const dropped = (): void => {
        stopTimer()
        closers.delete(closer)
        if (closed || stream !== mine) return
        const quietly = heard || clock.now() - sinceMs > LIVELY_MS ? 0 : idle + 1
        if (quietly >= MAX_IDLE_STREAMS) none('none')
        else later(retryMs, () => void listen(credentials, last, quietly))
        resolve('open')
      }
      const resumed: Headers = last === undefined ? {} : { 'last-event-id': last }
      mine = exchangeMessages(
        wire,
        { method: 'GET', url, headers: { ...common(credentials), accept: 'text/event-stream', ...resumed } },
        {
          head(status, received) {
            if (status !== 200) return
            stopTimer()
            if ((headerOf(received, 'content-type') ?? '').startsWith('text/event-stream')) resolve('open')
            else {
              none('none')
              mine?.abort()
            }
          },
          message(message) {
            heard = true
            shared.message(message)
          },
          mark(mark) {
            last = mark.id ?? last
            retryMs = mark.retryMs ?? retryMs
          },
          accepted: () => none('none'),
          ended: dropped,
          refused: ({ status }) => none(AGAIN[status] ?? 'none'),
          failed: (error) => (error.reason === 'upstream_protocol' ? shared.lost(error) : dropped()),
        },
      )
      stream = mine
    })
  }

  async function close(credentials: Headers): Promise<void> {
    if (closed) return
    closed = true
    for (const stop of timers) stop()
    for (const stop of closers) stop()
    // DELETE goes before the streams: some servers take a closed stream for a client that may come back.
    if (sessionId !== undefined) await remove(credentials)
    stream?.abort()
    for (const call of open) call.abort()
    open.clear()
  }

  function remove(credentials: Headers): Promise<void> {
    return new Promise((resolve) => {
      let call: WireCall | undefined
      const stopTimer = clock.after(CLOSE_TIMEOUT_MS, () => {
        call?.abort()
        resolve()
      })
      const done = (): void => {
        stopTimer()
        resolve()
      }
      call = wire.send(
        { method: 'DELETE', url, headers: common(credentials) },
        { head: () => undefined, chunk: () => undefined, end: done, error: done },
      )
    })
  }

  return {
    kind: 'streamable-http',
    listening: () => stream !== undefined,
    sessionful: () => sessionId !== undefined,
    post,
    listen: (credentials) => listen(credentials),
    negotiated(settled) {
      revision = settled
    },
    close,
  }
}
