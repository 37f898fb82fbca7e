import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { GatewayError, ProtocolError } from '../errors.ts'
import { readEnvelope } from '../mcp/envelope.ts'
import { eraOf } from '../mcp/era.ts'
import { checkHeaders, unsupported } from '../mcp/headers.ts'
import { classify, idOf, requestShape } from '../mcp/jsonrpc.ts'
import type { Answer, Caller, ModernRequest } from '../mcp/request.ts'
import { scan, type Value } from '../mcp/scan.ts'
import type { Log } from '../observe/log.ts'
import type { Options, RouteOptions } from '../options/schema.ts'
import { createAnswer } from './answer.ts'
import { ClientGone, readBody } from './body.ts'
import { createGuard, type Guarded } from './guard.ts'
import { isLoopback } from './loopback.ts'
import { errorBody, isUnforeseen, wireError } from './reply.ts'

type Headers = Readonly<Record<string, string | undefined>>

export interface DoorOptions {
  readonly options: Options
  /** Makes, for a route, what tells its callers. */
  readonly identifyFor: (route: RouteOptions) => (headers: Headers) => Caller
  readonly serve: (route: RouteOptions, request: ModernRequest, answer: Answer) => void | Promise<void>
  readonly log: Log
  readonly clock: Clock
}

export interface Door {
  handle(request: IncomingMessage, response: ServerResponse): void
  /** @throws the error of `net.Server.listen` */
  listen(): Promise<AddressInfo>
  /** Connections of clients. */
  sockets(): number
  /** From now on every response closes its connection, and idle ones are closed. */
  drain(): void
  /** Resolves when every connection is closed; those still open are cut. */
  close(): Promise<void>
}

const SCAN = { strict: true, foldCase: true, maxDepth: 64 }
const LAST_RESPONSES_MS = 1_000

/** The HTTP server in front (design §11) and the way from bytes to a `ModernRequest`. */
export function createDoor({ options, identifyFor, serve, log, clock }: DoorOptions): Door {
  const guard = createGuard({ listen: options.listen, routes: options.routes, ...options.http })
  const identify = new Map(options.routes.map(route => [route.path, identifyFor(route)]))
  const open = new Map<Socket, string>()
  const perAddress = new Map<string, number>()
  const exempt = new Set(options.http.trustedProxies)
  let draining = false
  const server: Server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      connectionsCheckingInterval: 5_000,
      keepAliveTimeout: 65_000,
      noDelay: true,
    },
    handle,
  )
  server.maxConnections = options.limits.maxConnections
  server.on('connection', connected)
  server.on('clientError', refuseRaw)
  server.on('checkContinue', handle)

  function handle(request: IncomingMessage, response: ServerResponse): void {
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    if (draining) response.setHeader('connection', 'close')
    void pass(request, response)
  }

  /** Hands the request from room to room; before it has an answer of its own, errors end here. */
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text: Buffer | undefined
    let root: Value | undefined
    try {
      const guarded = guard(request)
      if ((perAddress.get(addressOf(request.socket)) ?? 0) > options.limits.maxPerAddress) {
        throw new GatewayError('overloaded', 'too many connections from this address', { ownLimit: true })
      }
      if (guarded.verb !== 'POST') throw new ProtocolError(-32600, `${guarded.verb} is not served here`, 405)
      if (request.headers.expect !== undefined) response.writeContinue()
      text = await readBody(request, options.http.maxBodyBytes)
      root = scan(text, requestShape, SCAN)
      dispatch(request, response, guarded, text, root)
    } catch (error) {
      refuse(request, response, text && root && idOf(text, root), error)
    }
  }

  function dispatch(request: IncomingMessage, response: ServerResponse, guarded: Guarded, text: Buffer, root: Value): void {
    const { headers } = request
    const version = single(headers['mcp-protocol-version'])
    const message = classify(text, root)
    // Clients of earlier revisions are told which one is served (M-VER-06, M-HTTP-15).
    if (eraOf(version, root) === 'legacy') throw unsupported(version)
    if (message.kind === 'response') throw new ProtocolError(-32600, 'responses are sent as inputResponses of the retry')
    if (message.kind === 'notification') {
      response.writeHead(202).end()
      return
    }
    const { id, method } = message
    const envelope = readEnvelope(text, root)
    const mirrored = { version, method: single(headers['mcp-method']), name: single(headers['mcp-name']) }
    checkHeaders(mirrored, envelope.version, method, text, root)
    const { route, accepts } = guarded
    const caller = identify.get(route.path)?.(flat(headers))
    if (caller === undefined) throw new Error(`nobody identifies the callers of ${route.path}`)
    const answer = createAnswer({ request, response, id, accepts, clock, log })
    void answering(() => serve(route, { text, root, id, method, envelope, caller }, answer), answer)
  }

  async function answering(serving: () => void | Promise<void>, answer: Answer): Promise<void> {
    try {
      await serving()
    } catch (error) {
      answer.fail(error)
    }
  }

  function refuse(request: IncomingMessage, response: ServerResponse, id: Buffer | undefined, error: unknown): void {
    if (error instanceof ClientGone || response.headersSent) {
      response.destroy()
      return
    }
    const { status, headers, error: body } = wireError(error, false)
    if (isUnforeseen(error)) log.error({ err: error }, 'unforeseen')
    // What is left of the body is not read, so the connection cannot be used again.
    const unread = request.complete ? {} : { connection: 'close' }
    const bytes = errorBody(id, body)
    response.writeHead(status, { ...headers, ...unread, 'content-type': 'application/json', 'content-length': bytes.length })
    response.end(bytes)
  }

  function connected(socket: Socket): void {
    const address = addressOf(socket)
    open.set(socket, address)
    const counted = !isLoopback(address) && !exempt.has(address)
    if (counted) perAddress.set(address, (perAddress.get(address) ?? 0) + 1)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      open.delete(socket)
      if (!counted) return
      const left = (perAddress.get(address) ?? 1) - 1
      if (left > 0) perAddress.set(address, left)
      else perAddress.delete(address)
    })
  }

  /** A request that is no HTTP, or too large or too slow to be one. */
  function refuseRaw(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const status = RAW_STATUS[error.code ?? ''] ?? '400 Bad Request'
    const body = errorBody(undefined, { code: -32600, message: status.slice(4).toLowerCase() })
    socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  }

  function drain(): void {
    draining = true
    server.closeIdleConnections()
  }

  return {
    handle,
    listen() {
      return new Promise((resolve, reject) => {
        const { host, port } = partsOf(options.listen)
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          const address = server.address()
          if (address === null || typeof address === 'string') reject(new Error('not listening on a port'))
          else resolve(address)
        })
      })
    },
    sockets: () => open.size,
    drain,
    close() {
      drain()
      return new Promise(resolve => {
        // Answers that were just written get a moment to leave; then nothing keeps a connection open.
        const stop = clock.after(LAST_RESPONSES_MS, () => server.closeAllConnections())
        const timer = setInterval(() => server.closeIdleConnections(), 20)
        server.close(() => {
          stop()
          clearInterval(timer)
          resolve()
        })
      })
    },
  }
}

const RAW_STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

export function partsOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

const addressOf = (socket: Socket): string => (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
const single = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value.trim() : undefined

function flat(headers: IncomingMessage['headers']): Headers {
  const values: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(headers)) values[name] = Array.isArray(value) ? value.join(', ') : value
  return values
}
