import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Capabilities } from '../mcp/capabilities.ts'
import type { Incoming } from '../mcp/message.ts'
import { createAnswering } from './answering.ts'
import type { ChannelOptions, SharedSink } from './channel.ts'
import { InitializeRefused, initialize } from './initialize.ts'
import type { Outside } from './outside.ts'
import { createSession, type Headers, type Session } from './session.ts'
import { NoSseStream, openSseChannel } from './sseChannel.ts'
import { createStreamableChannel } from './streamableChannel.ts'

export type Transport = 'streamable-http' | 'http+sse'

/** What is learned of an upstream by its first session and holds for the next ones. */
export interface Learned {
  transport: Transport | undefined
  revision: string | undefined
}

export interface OpeningOptions extends ChannelOptions {
  readonly learned: Learned
  readonly nextId: () => number
  readonly outside: Outside
  readonly timeoutMs: number
}

export interface OpenRequest {
  readonly capabilities: Capabilities
  readonly credentials: Headers
  readonly onLost: (session: Session, error: GatewayError) => void
  readonly onRetired: (session: Session) => void
}

const ROOTS_WAIT_MS = 25
const AGAIN_AFTER_MS = 50
const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}')
/** Statuses that say nothing about the transport: the error is the client's to see. */
const NO_EVIDENCE = [401, 403, 407, 429]

/**
 * Opens a session (design §4.7): `initialize`, the stream for server messages, `initialized` and its 2xx,
 * then a moment for `roots/list`. Where the transport is not known, the transports page's order is tried.
 *
 * @throws UpstreamRefusal, GatewayError
 */
export async function openSession(options: OpeningOptions, request: OpenRequest): Promise<Session> {
  const { learned, url } = options
  if (learned.transport === 'http+sse') return openOver('http+sse', options, request)
  if (learned.transport === 'streamable-http') return openOver('streamable-http', options, request)
  const order: [Transport, Transport] = url.pathname.endsWith('/sse')
    ? ['http+sse', 'streamable-http']
    : ['streamable-http', 'http+sse']
  let first: unknown
  for (const transport of order) {
    try {
      const session = await openOver(transport, options, request)
      learned.transport = transport
      return session
    } catch (error) {
      if (!wrongTransport(error)) throw explained(first ?? error)
      first ??= error
    }
  }
  throw explained(first)
}

function wrongTransport(error: unknown): boolean {
  if (error instanceof NoSseStream) return true
  if (!(error instanceof InitializeRefused)) return false
  const { status } = error.refused
  return status >= 400 && status < 500 && !NO_EVIDENCE.includes(status)
}

/** The transport's own refusals in the gateway's words. */
function explained(error: unknown): unknown {
  if (!(error instanceof InitializeRefused || error instanceof NoSseStream)) return error
  const status = error.refused?.status ?? 200
  const reason = status >= 500 || status === 429 ? 'upstream_unreachable' : 'upstream_protocol'
  return new GatewayError(reason, `no session could be opened: ${error.message}`, { cause: error })
}

async function openOver(
  transport: Transport,
  options: OpeningOptions,
  request: OpenRequest,
): Promise<Session> {
  const { clock, learned } = options
  const { credentials } = request
  const inbox: Incoming[] = []
  const early = { take: (message: Incoming): void => void inbox.push(message) }
  let target: SharedSink | undefined
  let lost: GatewayError | undefined
  const shared: SharedSink = {
    message: (message) => (target === undefined ? early.take(message) : target.message(message)),
    lost(error) {
      lost = error
      target?.lost(error)
    },
    deaf: () => target?.deaf(),
  }
  const channel =
    transport === 'http+sse'
      ? await openSseChannel(options, credentials, shared)
      : createStreamableChannel(options, shared)
  const answering = createAnswering({ channel, clock })
  try {
    // Nothing but pings may come before `initialized`, and those want their answer now (L-PNG-01).
    early.take = (message) => {
      if (message.kind === 'request' && message.method === 'ping') {
        void answering.answer(message.id, Buffer.from('"result":{}'), credentials).catch(() => undefined)
      } else inbox.push(message)
    }
    const handshake = await initialize({
      channel,
      capabilities: request.capabilities,
      known: learned.revision,
      credentials,
      nextId: options.nextId,
      clock,
      timeoutMs: options.timeoutMs,
      early,
    })
    learned.revision = handshake.revision
    channel.negotiated(handshake.revision)

    const created: { session: Session; shared: SharedSink } = createSession({
      channel,
      handshake,
      credentials,
      clock,
      outside: options.outside,
      declaresRoots: request.capabilities.roots,
      onLost: (error) => request.onLost(created.session, error),
      onRetired: () => request.onRetired(created.session),
    })
    const { session } = created
    target = created.shared
    for (const message of inbox) target.message(message)

    const listening = await channel.listen(credentials)
    await answering.notify(INITIALIZED, credentials)
    if (listening === 'early') await channel.listen(credentials)
    else if (listening === 'busy') {
      await pause(clock, AGAIN_AFTER_MS)
      await channel.listen(credentials)
    }
    if (request.capabilities.roots && channel.listening()) await pause(clock, ROOTS_WAIT_MS)
    if (lost !== undefined) throw lost
    return session
  } catch (error) {
    target = undefined
    await channel.close(credentials)
    throw learned.transport === undefined ? error : explained(error)
  } finally {
    answering.close()
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}
