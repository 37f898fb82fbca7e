import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../errors.ts'
import { listenAt } from './address.ts'
import { createAddressLimit, type Verdict } from './addressLimit.ts'
import { createPass, type DoorOptions } from './pass.ts'
import { rawRefusal, refuse } from './refuse.ts'

export interface Door {
  /** Serves one request, of our own server or of one that embeds us. */
  handle(request: IncomingMessage, response: ServerResponse): void
  /** @throws the error of `net.Server.listen` */
  listen(): Promise<AddressInfo>
  /** Connections of clients. */
  sockets(): number
  /** From now on every response closes its connection, and idle ones are closed. */
  drain(): void
  /** Refuses what comes, gives the last responses a second, and cuts what is open then. */
  close(): Promise<void>
}

const LAST_RESPONSES_MS = 1_000
const RAW_LINGER_MS = 500

/** The HTTP server in front, with its limits (design §11). */
export function createDoor(given: DoorOptions): Door {
  const { options, log, clock } = given
  const pass = createPass(given)
  const addresses = createAddressLimit({
    max: options.limits.maxPerAddress,
    exempt: options.http.trustedProxies,
  })
  /** Open connections; of those that came one too many, the verdict. */
  const sockets = new Map<Duplex, Verdict>()
  /** What is being answered, by its connection; several where requests are pipelined. */
  const responses = new Map<Duplex, Set<ServerResponse>>()
  let active = 0
  let lastGone = (): void => undefined
  let draining = false
  let closing = false

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
  server.on('checkContinue', (request, response) => enter(request, response, true))

  function handle(request: IncomingMessage, response: ServerResponse): void {
    enter(request, response, false)
  }

  function enter(request: IncomingMessage, response: ServerResponse, waits: boolean): void {
    const { socket } = request
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    if (draining) response.setHeader('connection', 'close')
    track(socket, response)
    const refusal = refusalFor(socket)
    if (refusal === undefined) void pass(request, response, waits)
    else refuse({ request, response, log, clock, error: refusal, cut: true })
  }

  function track(socket: Socket, response: ServerResponse): void {
    const theirs = responsesOn(socket)
    theirs.add(response)
    active++
    response.on('close', () => {
      if (!theirs.delete(response)) return
      active--
      if (draining && theirs.size === 0) socket.destroySoon()
      if (active === 0) lastGone()
    })
  }

  function responsesOn(socket: Socket): Set<ServerResponse> {
    const known = responses.get(socket)
    if (known !== undefined) return known
    const theirs = new Set<ServerResponse>()
    responses.set(socket, theirs)
    socket.on('close', () => {
      responses.delete(socket)
      // Node leaves those out whose turn on the connection had not come.
      for (const response of theirs) response.emit('close')
    })
    return theirs
  }

  function refusalFor(socket: Socket): GatewayError | undefined {
    if (closing) return new GatewayError('draining', 'the gateway is closing')
    if (sockets.get(socket) !== 'refuse') return undefined
    return new GatewayError('overloaded', 'too many connections from this address', { ownLimit: true })
  }

  function connected(socket: Socket): void {
    const { verdict, leave } = addresses.enter(socket.remoteAddress ?? '')
    sockets.set(socket, verdict)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      leave()
    })
    if (verdict === 'cut') socket.destroy()
  }

  /** A request that is no HTTP, or too large or too slow to be one. */
  function refuseRaw(error: NodeJS.ErrnoException, socket: Duplex): void {
    const begun = [...(responses.get(socket) ?? [])].some((response) => response.headersSent)
    if (begun || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    socket.end(rawRefusal(error.code))
    const stop = clock.after(RAW_LINGER_MS, () => socket.destroy())
    socket.on('close', stop)
  }

  function drain(): void {
    if (draining) return
    draining = true
    for (const theirs of responses.values()) {
      for (const response of theirs) if (!response.headersSent) response.setHeader('connection', 'close')
    }
    // One that was never used may have its first request on the way.
    for (const socket of sockets.keys()) if (responses.get(socket)?.size === 0) socket.destroy()
  }

  async function close(): Promise<void> {
    drain()
    closing = true
    await new Promise<void>((resolve) => {
      const stop = clock.after(LAST_RESPONSES_MS, resolve)
      lastGone = () => {
        stop()
        resolve()
      }
      if (active === 0) lastGone()
    })
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets.keys()) socket.destroy()
    })
    // A socket tells of its end after the server does.
    await Promise.all([...sockets.keys()].map((socket) => once(socket, 'close')))
  }

  return { handle, listen: () => listenAt(server, options.listen), sockets: () => sockets.size, drain, close }
}
