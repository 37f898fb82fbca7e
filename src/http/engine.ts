import { once } from 'node:events'
import { Agent, IncomingMessage, type ServerResponse } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import type { Socket } from 'node:net'
import { createProxyServer } from 'http-proxy'
import type { Clock } from '../clock.ts'

/** One request to hand on, and the response that its answer belongs to. */
export interface Relay {
  /** The client's connection. */
  readonly client: Socket
  readonly response: ServerResponse
  readonly target: URL
  readonly method: string
  /** Everything that is sent, `host` included, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The upstream's head came. Whoever hears it writes the response; one side's end ends the other. */
  head(answer: IncomingMessage): void
  /** It went wrong, before the head or after it; `sent` is false only if the upstream was never reached. */
  failed(cause: Error, sent: boolean): void
}

interface Running {
  readonly relay: Relay
  /** The upstream was reached. */
  sent: boolean
  /** Of a head or of a failure. */
  told: boolean
}

const CONNECT_TIMEOUT_MS = 10_000
/** Servers close idle sockets after 5 s or so; we give them up before, so that no request meets a closing one. */
const IDLE_SOCKET_MS = 4_000
/** The engine listens to a response anew for each redirect. */
const MAX_LISTENERS = 32

/**
 * HTTP to one upstream origin, from socket to socket. This is `http-proxy`, which nothing else knows of
 * (design §12). Once connected there is no timeout: a stream is silent for as long as a person thinks.
 */
export function createEngine(origin: URL, clock: Clock) {
  const settings = { keepAlive: true, timeout: IDLE_SOCKET_MS }
  const agent = origin.protocol === 'https:' ? new SecureAgent(settings) : new Agent(settings)
  const proxy = createProxyServer({ agent, prependPath: false, selfHandleResponse: true })
  const running = new WeakMap<IncomingMessage, Running>()
  const sockets = new Set<Socket>()

  proxy.on('proxyReq', (request, from) => {
    const found = running.get(from)
    const { socket } = request
    if (found === undefined || socket === null) return
    track(socket)
    // A server that switches protocols unasked is cut without an error.
    request.once('close', () => {
      if (!found.told) failed(new Error('no answer'), from)
    })
    if (!socket.connecting) {
      found.sent = true
      return
    }
    const stop = clock.after(CONNECT_TIMEOUT_MS, () => request.destroy(new Error('no connection in time')))
    socket.once('connect', () => {
      stop()
      found.sent = true
    })
    socket.once('close', stop)
  })
  proxy.on('proxyRes', (answer, from) => {
    const found = running.get(from)
    if (found === undefined) return
    found.told = true
    found.relay.head(answer)
  })
  proxy.on('error', failed)
  proxy.on('econnreset', failed)

  function track(socket: Socket): void {
    if (sockets.has(socket)) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }

  function failed(cause: Error, from?: IncomingMessage): void {
    const found = from && running.get(from)
    if (found === undefined) return
    found.told = true
    found.relay.failed(cause, found.sent)
  }

  /** The request as it goes upstream: only the connection is still the client's. */
  function requestOf({ client, target, method, headers, body }: Relay): IncomingMessage {
    const request = new IncomingMessage(client)
    request.method = method
    request.url = target.pathname + target.search
    request.headers = { ...headers }
    request.httpVersion = '1.1'
    request.httpVersionMajor = 1
    request.httpVersionMinor = 1
    request.complete = true
    if (body.length > 0) request.push(body)
    request.push(null)
    return request
  }

  return {
    relay(relay: Relay): void {
      const request = requestOf(relay)
      running.set(request, { relay, sent: false, told: false })
      relay.response.setMaxListeners(MAX_LISTENERS)
      // What can go wrong is told by its events.
      proxy.web(request, relay.response, { target: relay.target }).catch(() => undefined)
    },
    /** Connections to the upstream, idle ones too. */
    sockets: () => sockets.size,
    /** Cuts whatever is open. */
    async close(): Promise<void> {
      agent.destroy()
      const open = [...sockets]
      for (const socket of open) socket.destroy()
      await Promise.all(open.map((socket) => once(socket, 'close')))
    },
  }
}

export type Engine = ReturnType<typeof createEngine>
