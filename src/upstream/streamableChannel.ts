import { GatewayError } from '../errors.ts'
import {
  type Channel,
  type ChannelOptions,
  type Headers,
  POST_HEADERS,
  type SharedSink,
  versionHeader,
} from './channel.ts'
import { exchangeMessages, type ResponseSink, refuseSending } from './post.ts'
import type { Requests } from './requests.ts'
import { startResumedCall } from './resumedCall.ts'
import { createStandingStream } from './standingStream.ts'
import { headerOf, type WireCall, type WireHeaders } from './wire.ts'

const CLOSE_TIMEOUT_MS = 5_000
const MAX_RETRY_MS = 30_000
/** What a session id may consist of (2025-11-25 transports §Session Management). */
const SESSION_ID = /^[\x21-\x7e]+$/

/**
 * Streamable HTTP (2025-03-26 to 2025-11-25 transports): every message of ours is a POST with its own
 * response; one GET stream may bring what belongs to none.
 */
export function createStreamableChannel(
  { wire, url, headers, clock }: ChannelOptions,
  shared: SharedSink,
): Channel {
  let sessionId: string | undefined
  let revision: string | undefined
  let closed = false
  const open = new Set<WireCall>()
  const timers = new Set<() => void>()

  const requests: Requests = {
    send: (credentials, own, sink, body) =>
      tracked(sink, (watched) =>
        exchangeMessages(
          wire,
          body === undefined
            ? { method: 'GET', url, headers: { ...common(credentials), ...own } }
            : { method: 'POST', url, headers: { ...common(credentials), ...own }, body },
          watched,
        ),
      ),
    later(ms, act) {
      if (closed) return
      const stop = clock.after(Math.min(ms, MAX_RETRY_MS), () => {
        timers.delete(stop)
        act()
      })
      timers.add(stop)
    },
    closed: () => closed,
  }
  const standing = createStandingStream(requests, clock, shared)

  const common = (credentials: Headers): Record<string, string> => ({
    ...credentials,
    ...headers,
    ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    ...versionHeader(revision),
  })

  /** Keeps the request among those that are closed with the channel, as long as it lasts. */
  function tracked(sink: ResponseSink, start: (watched: ResponseSink) => WireCall): WireCall {
    if (closed) return refuseSending(sink)
    const over = (): void => void open.delete(sent)
    const sent = start({
      ...sink,
      head(status, received) {
        learnSession(received)
        sink.head?.(status, received)
      },
      accepted() {
        over()
        sink.accepted()
      },
      ended() {
        over()
        sink.ended()
      },
      refused(refused) {
        over()
        sink.refused(refused)
      },
      failed(error, wasSent) {
        over()
        sink.failed(error, wasSent)
      },
    })
    const call: WireCall = {
      ...sent,
      abort() {
        over()
        sent.abort()
      },
    }
    open.add(sent)
    return call
  }

  /** The id comes with the answer to `initialize` (§Session Management). */
  function learnSession(received: WireHeaders): void {
    const id = headerOf(received, 'mcp-session-id')
    if (sessionId !== undefined || revision !== undefined || id === undefined) return
    if (!SESSION_ID.test(id))
      throw new GatewayError('upstream_protocol', 'the upstream gave a session id of illegal characters')
    sessionId = id
  }

  async function close(credentials: Headers): Promise<void> {
    if (closed) return
    closed = true
    for (const stop of timers) stop()
    timers.clear()
    standing.leave()
    // DELETE goes before the streams: some servers take a closed stream for a client that may come back.
    if (sessionId !== undefined) await remove(credentials)
    for (const call of open) call.abort()
    open.clear()
  }

  function remove(credentials: Headers): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        stop()
        resolve()
      }
      const call = wire.send(
        { method: 'DELETE', url, headers: common(credentials) },
        { head: () => undefined, chunk: () => undefined, end: done, error: done },
      )
      const stop = clock.after(CLOSE_TIMEOUT_MS, () => {
        call.abort()
        resolve()
      })
    })
  }

  return {
    kind: 'streamable-http',
    listening: standing.listening,
    sessionful: () => sessionId !== undefined,
    post: (body, credentials, sink) => requests.send(credentials, POST_HEADERS, sink, body),
    call: (body, credentials, sink) => startResumedCall(requests, body, credentials, sink),
    listen: standing.listen,
    negotiated(settled) {
      revision = settled
    },
    close,
  }
}
