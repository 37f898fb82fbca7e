import type { Clock } from '../clock.ts'
import { GatewayError, UpstreamRefusal } from '../errors.ts'
import type { Capabilities } from '../mcp/capabilities.ts'
import { createAnswering } from './answering.ts'
import type { Channel, ChannelOptions, Headers } from './channel.ts'
import { createEarly, type Early } from './early.ts'
import { InitializeRefused, initialize } from './initialize.ts'
import type { News } from './news.ts'
import type { Outside } from './outside.ts'
import { createSession, type Session } from './session.ts'
import { NoSseStream, openSseChannel } from './sseChannel.ts'
import { createStreamableChannel } from './streamableChannel.ts'

export type Transport = 'streamable-http' | 'http+sse'

/** What is learned of an upstream by its first session and holds for the next ones. */
export interface Learned {
  transport: Transport | undefined
  revision: string | undefined
}

export interface OpeningOptions extends ChannelOptions {
  readonly transport: Transport | 'auto'
  readonly learned: Learned
  readonly nextId: () => number
  readonly outside: Outside
  readonly news: News
  /** For the whole of it. */
  readonly timeoutMs: number
}

export interface OpenRequest {
  readonly context: string
  readonly capabilities: Capabilities
  readonly credentials: Headers
  readonly onLost: (error: GatewayError) => void
  readonly onRetired: () => void
}

const ROOTS_WAIT_MS = 25
const AGAIN_AFTER_MS = 50
const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}')
/** Statuses that say nothing about the transport: the error is the client's to see. */
const NO_EVIDENCE = [401, 403, 407, 429, 500, 502, 503, 504]

/**
 * Opens a session. Where the transport is not configured, the one learned last comes first, else the order of
 * the transports page (M-HTTP-16).
 *
 * @throws UpstreamRefusal, GatewayError
 */
export async function openSession(options: OpeningOptions, request: OpenRequest): Promise<Session> {
  let first: unknown
  for (const transport of orderOf(options)) {
    try {
      const session = await openOver(transport, options, request)
      options.learned.transport = transport
      return session
    } catch (error) {
      if (!wrongTransport(error)) throw explained(error instanceof UpstreamRefusal ? error : (first ?? error))
      first ??= error
    }
  }
  throw explained(first)
}

function orderOf({ transport, learned, url }: OpeningOptions): Transport[] {
  if (transport !== 'auto') return [transport]
  const first = learned.transport ?? (url.pathname.endsWith('/sse') ? 'http+sse' : 'streamable-http')
  return first === 'http+sse' ? ['http+sse', 'streamable-http'] : ['streamable-http', 'http+sse']
}

function wrongTransport(error: unknown): boolean {
  if (!(error instanceof InitializeRefused || error instanceof NoSseStream)) return false
  return error.refused === undefined || !NO_EVIDENCE.includes(error.refused.status)
}

/** The transport's own refusals in the gateway's words. */
function explained(error: unknown): unknown {
  if (!(error instanceof InitializeRefused || error instanceof NoSseStream)) return error
  const status = error.refused?.status ?? 200
  const reason = status >= 500 || status === 429 ? 'upstream_unreachable' : 'upstream_protocol'
  return new GatewayError(reason, `no session could be opened: ${error.message}`, { cause: error })
}

/** One transport's attempt; it ends with the time limit or the channel, whatever its steps still wait for. */
async function openOver(
  transport: Transport,
  options: OpeningOptions,
  request: OpenRequest,
): Promise<Session> {
  const { clock, timeoutMs } = options
  const over = new AbortController()
  const lost = new Promise<never>((_, reject) => {
    over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true })
  })
  // Nobody may be waiting for it yet when it comes.
  lost.catch(() => undefined)
  const stop = clock.after(timeoutMs, () => {
    over.abort(new GatewayError('upstream_timeout', `the upstream opened no session within ${timeoutMs} ms`))
  })
  const early = createEarly((error) => over.abort(error))
  let close = async (): Promise<void> => undefined
  try {
    const channel =
      transport === 'http+sse'
        ? await openSseChannel(options, request.credentials, early.sink)
        : createStreamableChannel(options, early.sink)
    close = () => channel.close(request.credentials)
    const begun = begin(channel, early, options, request, over.signal, (session) => {
      close = session.close
    })
    return await Promise.race([begun, lost])
  } catch (error) {
    await close()
    throw error
  } finally {
    stop()
    over.abort(new GatewayError('upstream_closed', 'the opening is over'))
  }
}

/**
 * The conversation of design §4.7: `initialize`, the stream for server messages, `initialized` and its 2xx,
 * then a moment for `roots/list`.
 */
async function begin(
  channel: Channel,
  early: Early,
  options: OpeningOptions,
  { context, capabilities, credentials, onLost, onRetired }: OpenRequest,
  signal: AbortSignal,
  created: (session: Session) => void,
): Promise<Session> {
  const { clock, learned, nextId, outside, news } = options
  const answering = createAnswering({ channel, clock })
  signal.addEventListener('abort', answering.close, { once: true })
  // Nothing but pings may come before `initialized`, and those want their answer now (L-PNG-01).
  early.take = (message) => {
    if (message.kind === 'request' && message.method === 'ping') {
      void answering.answer(message.id, Buffer.from('"result":{}'), credentials).catch(() => undefined)
    } else early.keep(message)
  }
  const handshake = await initialize(
    { channel, capabilities, known: learned.revision, credentials, nextId, early },
    signal,
  )
  learned.revision = handshake.revision
  channel.negotiated(handshake.revision)
  const { session, shared } = createSession({
    channel,
    handshake,
    credentials,
    clock,
    outside,
    declaresRoots: capabilities.roots,
    onAnnounced: (notification) => news.tell(context, notification),
    onLost(error) {
      onLost(error)
      news.gone(context, session)
    },
    onRetired() {
      onRetired()
      news.gone(context, session)
    },
  })
  created(session)
  early.handOver(shared)

  const listening = await channel.listen(credentials)
  await answering.notify(INITIALIZED, credentials)
  if (listening === 'early') await channel.listen(credentials)
  else if (listening === 'busy') {
    await pause(clock, AGAIN_AFTER_MS, signal)
    await channel.listen(credentials)
  }
  if (capabilities.roots && channel.listening()) await pause(clock, ROOTS_WAIT_MS, signal)
  return session
}

/** Waits `ms`, or until the signal. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stop()
      resolve()
    }
    const stop = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
