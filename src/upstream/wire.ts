import { type Dispatcher, Pool } from 'undici'
import { GatewayError } from '../errors.ts'

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

const CONNECT_TIMEOUT_MS = 10_000
/** Servers close idle sockets after 5 s or so; we give them up before, so that no request meets a closing one. */
const IDLE_SOCKET_MS = 4_000
const MAX_REDIRECTS = 3

/**
 * HTTP to one upstream origin. Nothing here limits how long a response may take: a suspended call is a
 * response that is silent for as long as a person thinks. Redirects 307 and 308 are followed, body and all,
 * within the origin only (design §11).
 */
export function createWire(origin: URL): Wire {
  const pool = new Pool(origin.origin, {
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_SOCKET_MS,
    keepAliveMaxTimeout: IDLE_SOCKET_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  })
  const calls = new Set<() => void>()

  function send(request: WireRequest, sink: WireSink): WireCall {
    let over = false
    let controller: Dispatcher.DispatchController | undefined
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
      controller?.abort(cause)
    }

    function dispatch(url: URL, redirects: number): void {
      let sent = false
      let redirected: URL | undefined
      pool.dispatch(
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
            if (over) started.abort(new Error('given up'))
            else if (paused) started.pause()
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
    dispatch(request.url, 0)
    return {
      abort() {
        finish(() => controller?.abort(new Error('given up')))
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
      for (const cut of calls) cut()
      await pool.destroy()
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
