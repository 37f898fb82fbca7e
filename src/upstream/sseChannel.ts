import { GatewayError } from '../errors.ts'
import {
  type Channel,
  type ChannelOptions,
  type Headers,
  POST_HEADERS,
  type SharedSink,
  versionHeader,
} from './channel.ts'
import { refusal } from './failure.ts'
import { exchangeMessages, type Refused, type ResponseSink, refuseSending } from './post.ts'
import { headerOf, type WireCall } from './wire.ts'

const ENDPOINT_TIMEOUT_MS = 10_000

/** The upstream answered the GET with no SSE stream. */
export class NoSseStream extends Error {
  readonly refused: Refused | undefined

  constructor(refused: Refused | undefined) {
    super(refused === undefined ? 'the response was no event stream' : `the status was ${refused.status}`)
    this.refused = refused
  }
}

/**
 * HTTP+SSE (2024-11-05 transports §HTTP with SSE): one GET stream brings every server message, and names in
 * its `endpoint` event where ours are POSTed; nothing is sent before it. The stream's end is the session's.
 *
 * @throws NoSseStream, UpstreamRefusal (401, 403), GatewayError
 */
export function openSseChannel(
  options: ChannelOptions,
  credentials: Headers,
  shared: SharedSink,
): Promise<Channel> {
  const { wire, url, headers, clock } = options
  return new Promise((resolve, reject) => {
    let endpoint: URL | undefined
    let closed = false
    const stopTimer = clock.after(ENDPOINT_TIMEOUT_MS, () => {
      fail(
        new GatewayError(
          'upstream_timeout',
          `the upstream named no endpoint within ${ENDPOINT_TIMEOUT_MS} ms`,
        ),
      )
    })
    const stream = exchangeMessages(
      wire,
      { method: 'GET', url, headers: { ...credentials, ...headers, accept: 'text/event-stream' } },
      {
        head(status, received) {
          const type = headerOf(received, 'content-type') ?? ''
          if (status === 200 && !type.startsWith('text/event-stream')) fail(new NoSseStream(undefined))
        },
        other(event, data) {
          if (event === 'endpoint' && endpoint === undefined) named(data.toString())
        },
        message: (message) => shared.message(message),
        accepted: () => fail(new NoSseStream(undefined)),
        ended: () => fail(new GatewayError('upstream_closed', 'the upstream closed its event stream')),
        refused: (refused) => fail(refusal(refused) ?? new NoSseStream(refused)),
        failed: (error) => fail(error),
      },
    )

    function named(path: string): void {
      const target = URL.canParse(path, url.href) ? new URL(path, url) : undefined
      if (target?.origin !== url.origin) {
        fail(new GatewayError('upstream_protocol', 'the upstream named an endpoint on another origin'))
        return
      }
      endpoint = target
      stopTimer()
      resolve(channel(target))
    }

    function fail(error: Error): void {
      if (closed) return
      closed = true
      stopTimer()
      stream.abort()
      if (endpoint === undefined) reject(error)
      else
        shared.lost(
          error instanceof GatewayError ? error : new GatewayError('upstream_closed', error.message),
        )
    }

    function channel(target: URL): Channel {
      let revision: string | undefined
      const open = new Set<WireCall>()

      function post(body: Buffer, sender: Headers, sink: ResponseSink): WireCall {
        if (closed) return refuseSending(sink)
        const over = (): void => void open.delete(sent)
        const sent = exchangeMessages(
          wire,
          {
            method: 'POST',
            url: target,
            headers: { ...sender, ...headers, ...POST_HEADERS, ...versionHeader(revision) },
            body,
          },
          acceptedOnce(sink, over),
        )
        open.add(sent)
        return {
          ...sent,
          abort() {
            over()
            sent.abort()
          },
        }
      }

      return {
        kind: 'http+sse',
        listening: () => true,
        sessionful: () => true,
        post,
        call: post,
        listen: async () => 'open',
        negotiated(settled) {
          revision = settled
        },
        async close() {
          closed = true
          stream.abort()
          for (const call of open) call.abort()
          open.clear()
        },
      }
    }
  })
}

/**
 * A POST is accepted once a 2xx came, since responses come on the stream: what its body brings counts, but one
 * that is cut or makes no sense fails nothing (case 32).
 */
function acceptedOnce(sink: ResponseSink, over: () => void): ResponseSink {
  let accepted = false
  return {
    head(status, received) {
      accepted = status >= 200 && status <= 299
      sink.head?.(status, received)
    },
    message: sink.message,
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
    failed(error, sent) {
      over()
      if (accepted) sink.accepted()
      else sink.failed(error, sent)
    },
  }
}
