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
import { refuse } from './refuse.ts'
import { createHeadersUp, headersDown } from './relayedHeaders.ts'

/** A request of an earlier revision that passed the guard, its body read. */
export interface LegacyRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly body: Buffer
  /** It asks for something new; what it posts otherwise lets running calls finish. */
  readonly begins: boolean
}

/** Clients of earlier revisions on one route. */
export interface Passthrough {
  /** Hands a request to the upstream and its answer back. */
  pass(legacy: LegacyRequest): void
  /** From now on nothing new begins; answers to what the upstream asks still pass. */
  drain(): void
  /** Resolves when no POST waits for its answer; listening streams do not count. */
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

/**
 * Lets clients of earlier revisions use the upstream as if we were not there (M-VER-05): their requests and
 * its answers pass byte for byte, as they come. What changes is the address, the headers of the connection,
 * and the `endpoint` that an HTTP+SSE stream names. Redirects 307 and 308 within the upstream's origin are
 * followed here, since its address is not the client's (case 30); all others pass.
 */
export function createPassthrough({ route, keyring, log, clock }: PassthroughOptions): Passthrough {
  const url = new URL(route.upstream.url)
  const engine = createEngine(url, clock)
  const endpoints = createLegacyEndpoints(route, keyring)
  const headersUp = createHeadersUp(route.upstream)
  /** What is under way, and how it is ended. */
  const underWay = new Map<LegacyRequest, () => void>()
  let calls = 0
  let draining = false
  let closing = false
  let idle = (): void => undefined
  let empty = (): void => undefined

  function pass(legacy: LegacyRequest): void {
    const { request, response, verb } = legacy
    if (response.destroyed) return
    if (closing || (draining && legacy.begins)) throw new GatewayError('draining', 'the gateway is draining')
    const query = request.url?.split('?')[1] ?? ''
    const target = (verb === 'POST' ? endpoints.upstreamOf(query) : undefined) ?? url
    underWay.set(legacy, () => fail(legacy, new GatewayError('draining', 'the gateway is closing')))
    if (verb !== 'GET') calls++
    response.on('close', () => {
      underWay.delete(legacy)
      if (verb !== 'GET') calls--
      if (calls === 0) idle()
      if (underWay.size === 0) empty()
    })
    send(legacy, target, 0)
  }

  function send(legacy: LegacyRequest, target: URL, redirects: number): void {
    const { request, response, verb, body } = legacy
    const headers = headersUp(request.headers)
    if (verb === 'POST' || body.length > 0) headers['content-length'] = String(body.length)
    const names = namesEndpoint(legacy)
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
        if (next === undefined) answered(legacy, answer, names ? target : undefined)
        else {
          answer.resume()
          send(legacy, next, redirects + 1)
        }
      },
      failed: (cause, sent) => fail(legacy, wireFailure(cause, sent, target)),
    })
  }

  /** Streamable HTTP has no such event: there not a byte is looked at. */
  function namesEndpoint({ verb, request }: LegacyRequest): boolean {
    const streamable = route.upstream.transport === 'streamable-http'
    return verb === 'GET' && !streamable && request.headers['mcp-session-id'] === undefined
  }

  /** Writes the upstream's answer; `base` is its address, if it may name an endpoint. */
  function answered(legacy: LegacyRequest, answer: IncomingMessage, base: URL | undefined): void {
    const { response } = legacy
    if (response.destroyed || response.headersSent) return
    const { statusCode = 502, statusMessage, rawHeaders } = answer
    const streams = answer.headers['content-type']?.startsWith('text/event-stream') === true
    const rewrites = base !== undefined && streams && answer.headers['content-encoding'] === undefined
    const headers = headersDown(rawHeaders, rewrites ? ['content-length'] : [])
    try {
      response.writeHead(statusCode, statusMessage, headers)
    } catch (cause) {
      fail(
        legacy,
        new GatewayError('upstream_protocol', 'the upstream sent a head that cannot pass', { cause }),
      )
      return
    }
    // The head goes out at once. `flushHeaders` would write it as UTF-8, which its bytes need not be.
    response.write(NOTHING)
    underWay.set(legacy, () => (streams ? response.end() : response.destroy()))
    if (rewrites) answer.pipe(rewriting(legacy, base)).pipe(response)
    else answer.pipe(response)
  }

  function rewriting(legacy: LegacyRequest, base: URL): Transform {
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
    stream.on('error', (error) => fail(legacy, error))
    return stream
  }

  /** Tells the client while it can be told: it has no id, since its body was not ours to read (M-BASE-03). */
  function fail({ request, response }: LegacyRequest, error: Error): void {
    if (response.headersSent && !response.destroyed)
      log.info({ route: route.path, cause: error.message }, 'cut')
    refuse({ request, response, error, log, clock })
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
        for (const end of [...underWay.values()]) end()
        if (underWay.size === 0) empty()
      })
      await engine.close()
    },
  }
}

/** Where a redirect leads, if it is one that keeps verb and body and stays on the origin. */
function redirectOf({ statusCode, headers }: IncomingMessage, from: URL): URL | undefined {
  const { location } = headers
  if ((statusCode !== 307 && statusCode !== 308) || location === undefined) return undefined
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined
  return to?.origin === from.origin ? to : undefined
}
