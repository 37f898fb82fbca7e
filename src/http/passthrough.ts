import type { IncomingMessage, ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { RouteOptions } from '../options/schema.ts'
import type { Keyring } from '../token/keyring.ts'
import { wireFailure } from '../upstream/wire.ts'
import { createEndpointEvents } from './endpointEvents.ts'
import { createEngine } from './engine.ts'
import { createLegacyEndpoints } from './legacyEndpoint.ts'
import { redirectOf } from './redirectOf.ts'
import { refuse } from './refuse.ts'
import { createHeadersUp, headersDown } from './relayedHeaders.ts'

/** A request that goes to the upstream as it is; it passed the guard, and its body is read. */
export interface PassedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly body: Buffer
  /** It asks for something new; what it posts otherwise lets running calls finish. */
  readonly begins: boolean
  /** Its response is a stream without end, which nobody waits for. */
  readonly listens: boolean
  /** The JSON-RPC id for errors of ours, where the body is ours to read (M-BASE-03). */
  readonly id?: Buffer | undefined
  readonly watch?: PassedWatch
}

/** Sees what becomes of a request. */
export interface PassedWatch {
  /** The answer's head came, and the client has not seen it; if not true, the answer is dropped for `instead`. */
  fits(answer: IncomingMessage): true | Promise<boolean>
  /** Somebody else answers the client. */
  instead(): void
  /** The upstream could not be reached, or hung up on a client that still waits. */
  lost(): void
}

/** The way to a route's upstream on which nothing is translated. */
export interface Passthrough {
  /** Hands a request to the upstream and its answer back. */
  pass(passed: PassedRequest): void
  /** From now on nothing new begins; answers to what the upstream asks still pass. */
  drain(): void
  /** Resolves when no request waits for its answer; listening streams do not count. */
  idle(): Promise<void>
  sockets(): number
  /** Ends the streams, and cuts the rest. */
  close(): Promise<void>
}

export interface PassthroughOptions {
  readonly route: RouteOptions
  readonly keyring: Keyring
  readonly log: Log
  readonly clock: Clock
}

const NOTHING = Buffer.alloc(0)
const MAX_REDIRECTS = 3
/** How long a client that reads slowly gets to see the end of its stream. */
const LAST_BYTES_MS = 500

/** One that is under way. */
interface UnderWay {
  /** Ends it now, as far as it has come. */
  end: () => void
  /** It is over, or somebody else's. */
  readonly leave: () => void
}

/**
 * Lets clients of the upstream's own era use it as if we were not there (M-VER-05, M-HDR-09): their requests
 * and its answers pass byte for byte, as they come. What changes is the address, the headers of the connection,
 * and the `endpoint` that an HTTP+SSE stream names. Redirects 307 and 308 within the upstream's origin are
 * followed here, since its address is not the client's (case 30); all others pass.
 */
export function createPassthrough({ route, keyring, log, clock }: PassthroughOptions): Passthrough {
  const url = new URL(route.upstream.url)
  const engine = createEngine(url, clock)
  const endpoints = createLegacyEndpoints(route, keyring)
  const headersUp = createHeadersUp(route.upstream)
  const underWay = new Map<PassedRequest, UnderWay>()
  let calls = 0
  let draining = false
  let closing = false
  let idle = (): void => undefined
  let empty = (): void => undefined

  function pass(passed: PassedRequest): void {
    const { request, response, verb } = passed
    if (response.destroyed) return
    if (closing || (draining && passed.begins)) {
      fail(passed, new GatewayError('draining', 'the gateway is draining'))
      return
    }
    const query = request.url?.split('?')[1] ?? ''
    const target = (verb === 'POST' ? endpoints.upstreamOf(query) : undefined) ?? url
    enter(passed)
    send(passed, target, 0)
  }

  function enter(passed: PassedRequest): void {
    const leave = (): void => {
      if (!underWay.delete(passed)) return
      if (!passed.listens) calls--
      if (calls === 0) idle()
      if (underWay.size === 0) empty()
    }
    const end = (): void => fail(passed, new GatewayError('draining', 'the gateway is closing'))
    underWay.set(passed, { end, leave })
    if (!passed.listens) calls++
    passed.response.on('close', leave)
  }

  function send(passed: PassedRequest, target: URL, redirects: number): void {
    const { request, response, verb, body } = passed
    const headers = headersUp(request.headers)
    if (verb === 'POST' || body.length > 0) headers['content-length'] = String(body.length)
    const names = namesEndpoint(passed)
    // What is compressed cannot be rewritten.
    if (names) headers['accept-encoding'] = 'identity'
    engine.relay({
      client: request.socket,
      response,
      target,
      method: verb,
      headers,
      body,
      head(answer) {
        const next = redirects < MAX_REDIRECTS ? redirectOf(answer, target) : undefined
        if (next === undefined) void judged(passed, answer, names ? target : undefined)
        else {
          answer.resume()
          send(passed, next, redirects + 1)
        }
      },
      failed(cause, sent) {
        if (!response.destroyed) passed.watch?.lost()
        fail(passed, wireFailure(cause, sent, target))
      },
    })
  }

  async function judged(
    passed: PassedRequest,
    answer: IncomingMessage,
    base: URL | undefined,
  ): Promise<void> {
    const { watch } = passed
    const fits = watch === undefined || watch.fits(answer)
    if (fits === true || (await fits)) {
      answered(passed, answer, base)
      return
    }
    answer.resume()
    if (passed.response.destroyed || passed.response.headersSent) return
    underWay.get(passed)?.leave()
    watch?.instead()
  }

  /** Streamable HTTP has no such event: there not a byte is looked at. */
  function namesEndpoint({ verb, request }: PassedRequest): boolean {
    const streamable = route.upstream.transport === 'streamable-http'
    return verb === 'GET' && !streamable && request.headers['mcp-session-id'] === undefined
  }

  /** Writes the upstream's answer; `base` is its address, if it may name an endpoint. */
  function answered(passed: PassedRequest, answer: IncomingMessage, base: URL | undefined): void {
    const { response } = passed
    if (response.destroyed || response.headersSent) return
    const { statusCode = 502, statusMessage, rawHeaders } = answer
    const streams = answer.headers['content-type']?.startsWith('text/event-stream') === true
    const rewrites = base !== undefined && streams && answer.headers['content-encoding'] === undefined
    const headers = headersDown(rawHeaders, rewrites ? ['content-length'] : [])
    try {
      response.writeHead(statusCode, statusMessage, headers)
    } catch (cause) {
      fail(
        passed,
        new GatewayError('upstream_protocol', 'the upstream sent a head that cannot pass', { cause }),
      )
      return
    }
    // The head goes out at once. `flushHeaders` would write it as UTF-8, which its bytes need not be.
    response.write(NOTHING)
    const way = underWay.get(passed)
    if (way !== undefined) way.end = () => (streams ? response.end() : response.destroy())
    if (rewrites) answer.pipe(rewriting(passed, base)).pipe(response)
    else answer.pipe(response)
  }

  function rewriting(passed: PassedRequest, base: URL): Transform {
    const events = createEndpointEvents((named) => endpoints.ourEndpoint(named, base))
    const stream = new Transform({
      transform(chunk, _encoding, done) {
        try {
          for (const part of events.push(chunk)) stream.push(part)
          done()
        } catch (error) {
          done(error instanceof Error ? error : new Error('not rewritten'))
        }
      },
      flush: (done) => done(null, events.end()),
    })
    stream.on('error', (error) => fail(passed, error))
    return stream
  }

  /** Tells the client while it can be told. */
  function fail({ request, response, id }: PassedRequest, error: Error): void {
    if (response.headersSent && !response.destroyed)
      log.info({ route: route.path, cause: error.message }, 'cut')
    refuse({ request, response, error, id, log, clock })
  }

  return {
    pass,
    drain() {
      draining = true
    },
    idle: () =>
      new Promise((resolve) => {
        idle = resolve
        if (calls === 0) idle()
      }),
    sockets: engine.sockets,
    async close() {
      closing = true
      await new Promise<void>((resolve) => {
        const stop = clock.after(LAST_BYTES_MS, resolve)
        empty = () => {
          stop()
          resolve()
        }
        for (const { end } of [...underWay.values()]) end()
        if (underWay.size === 0) empty()
      })
      await engine.close()
    },
  }
}
