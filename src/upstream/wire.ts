import type { Dispatcher } from 'undici'
import { GatewayError } from '../errors.ts'
import { createConnections } from './connections.ts'

/** One HTTP request to the upstream. */
export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** What comes back; exactly one of `end` and `error` is the last call. */
export interface WireSink {
  head(status: number, headers: WireHeaders): void
  chunk(bytes: Buffer): void
  end(): void
  /** `sent` is false only if not a byte of the request can have reached the upstream. */
  error(cause: Error, sent: boolean): void
}

export type WireHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface WireCall {
  /** Gives the request up and closes its socket; the sink hears nothing more. */
  abort(): void
  pause(): void
  resume(): void
}

export interface Wire {
  send(request: WireRequest, sink: WireSink): WireCall
  /** Sockets in use for requests that have not ended. */
  busy(): number
  close(): Promise<void>
}

const MAX_REDIRECTS = 3

/**
 * HTTP to one upstream origin. Redirects 307 and 308 are followed, body and all, within the origin only
 * (design §11).
 */
export function createWire(origin: URL): Wire {
  const connections = createConnections(origin.origin)
  const calls = new Set<() => void>()
  let closed = false

  function send(request: WireRequest, sink: WireSink): WireCall {
    let over = false
    let controller: Dispatcher.DispatchController | undefined
    let close = (): void => undefined
    let paused = false

    function finish(tell: () => void): void {
      if (over) return
      over = true
      calls.delete(cut)
      tell()
    }

    /** The gateway closes: whoever still waits is told. */
    function cut(): void {
      const cause = new Error('the gateway closed')
      finish(() => sink.error(cause, true))
      close()
    }

    function dispatch(url: URL, redirects: number): void {
      let sent = false
      let redirected: URL | undefined
      close = connections.dispatch(
        {
          path: url.pathname + url.search,
          method: request.method,
          headers: { ...request.headers },
          body: request.body ?? null,
        },
        {
          onRequestStart(started) {
            sent = true
            controller = started
            if (paused) started.pause()
          },
          onResponseStart(_, status, headers) {
            redirected =
              status === 307 || status === 308 ? target(url, headers.location, redirects) : undefined
            if (!over && redirected === undefined) sink.head(status, headers)
          },
          onResponseData(_, bytes) {
            if (!over && redirected === undefined) sink.chunk(bytes)
          },
          onResponseEnd() {
            if (redirected !== undefined && !over) dispatch(redirected, redirects + 1)
            else finish(() => sink.end())
          },
          onResponseError(_, cause) {
            finish(() => sink.error(cause, sent))
          },
        },
      )
    }

    calls.add(cut)
    if (closed) queueMicrotask(cut)
    else dispatch(request.url, 0)
    return {
      abort() {
        finish(close)
      },
      pause() {
        paused = true
        controller?.pause()
      },
      resume() {
        paused = false
        controller?.resume()
      },
    }
  }

  return {
    send,
    busy: () => calls.size,
    async close() {
      closed = true
      for (const cut of calls) cut()
      await connections.close()
    },
  }
}

/** Where a redirect leads, if it may be followed. */
function target(from: URL, location: unknown, redirects: number): URL | undefined {
  if (typeof location !== 'string' || redirects >= MAX_REDIRECTS || !URL.canParse(location, from.href))
    return undefined
  const to = new URL(location, from)
  return to.origin === from.origin ? to : undefined
}

/** A failed request in the gateway's words: never reached, or lost on the way. */
export function wireFailure(cause: Error, sent: boolean, url: URL): GatewayError {
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
  return sent
    ? new GatewayError('upstream_closed', `the upstream closed the connection${code}`, { cause })
    : new GatewayError('upstream_unreachable', `the upstream at ${url.host} cannot be reached${code}`, {
        cause,
      })
}

/** The one value of a header, if it has exactly one. */
export function headerOf(headers: WireHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
