import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Incoming, IncomingNotification, IncomingRequest, IncomingResponse } from '../mcp/message.ts'
import { at, stringOf, textOf } from '../mcp/scan.ts'
import { createAnswering } from './answering.ts'
import type { Channel, SharedSink } from './channel.ts'
import { createCompletions } from './completions.ts'
import { type CallFailure, refusedCall } from './failure.ts'
import type { Outside } from './outside.ts'

export type Headers = Readonly<Record<string, string>>

/** Who holds a session, or has a call on a shared one. */
export interface Holder {
  /** A server request; `own` if it came on the response to the call's own POST. */
  question(request: IncomingRequest, own: boolean): void
  /** The upstream takes a request of this id back. */
  withdrawn(id: string): void
  notification(notification: IncomingNotification, own: boolean): void
  /** The session is gone. */
  lost(error: GatewayError): void
}

export interface CallSink extends Holder {
  /** The upstream's own response; with `failed` the last word on the call, whichever comes first. */
  response(response: IncomingResponse): void
  failed(failure: CallFailure): void
}

export interface Call {
  /** Lets go of the response: its POST is closed and what still comes is dropped. */
  drop(): void
}

/** What `initialize` said. */
export interface Handshake {
  readonly revision: string
  /** The InitializeResult's bytes. */
  readonly result: Buffer
  readonly capabilities: Readonly<Record<string, unknown>>
  /** The bytes of `serverInfo` if it has name and version. */
  readonly serverInfo: Buffer | undefined
}

/** One initialised legacy session (design §4). */
export interface Session {
  readonly handshake: Handshake
  /** Server messages can come outside of responses. */
  listening(): boolean
  sessionful(): boolean
  /** Calls without their response. */
  inFlight(): number
  /** Sends a request of this id; `body` is the whole message. */
  call(id: number, body: Buffer, credentials: Headers, sink: CallSink): Call
  /** Sends a notification; resolves when the upstream took it or could not. */
  notify(body: Buffer, credentials?: Headers): Promise<void>
  /**
   * Answers a server request of this raw id. Repeated where the connection failed before a response head.
   *
   * @throws UpstreamRefusal (401, 403: the question stays open), GatewayError
   */
  answer(id: Buffer, payload: Buffer, credentials?: Headers): Promise<void>
  /** Gives the messages of the shared stream to `holder` until the returned function is called. */
  attach(holder: Holder): () => void
  /** Resolves when the upstream told that these URL elicitations are complete, can tell no more, or after `ms`. */
  completed(elicitationIds: readonly string[], ms: number): Promise<void>
  /** `roots/list` requests that came while nobody could answer them; they are the caller's now. */
  takeRoots(): IncomingRequest[]
  /** Keeps them for the next lease. */
  keepRoots(requests: readonly IncomingRequest[]): void
  /** No call was sent yet. */
  fresh(): boolean
  /** Not to be leased again: a protocol fault, or a stream that cannot be had again. */
  retired(): boolean
  retire(): void
  close(): Promise<void>
}

export interface SessionOptions {
  readonly channel: Channel
  readonly handshake: Handshake
  readonly credentials: Headers
  readonly clock: Clock
  readonly outside: Outside
  readonly declaresRoots: boolean
  readonly onLost: (error: GatewayError) => void
  readonly onRetired: () => void
}

/** How long a response may still come on the GET stream once the POST's own stream ended without it. */
const NO_RESPONSE_WAIT_MS = 500
/** How long a POST may stay open after its response; most end at once and leave a warm socket. */
const LINGER_MS = 1_000

/** Routes what an initialised session says to its calls and its holder; `shared` is its channel's sink. */
export function createSession(options: SessionOptions): { session: Session; shared: SharedSink } {
  const { channel, clock, outside } = options
  const calls = new Map<number, Pending>()
  const holders = new Set<Holder>()
  const timers = new Set<() => void>()
  let credentials = options.credentials
  let roots: IncomingRequest[] = []
  let called = false
  let retired = false
  let closed = false
  const answering = createAnswering({ channel, clock })
  const completions = createCompletions(clock)

  function respond(message: IncomingResponse, own: Pending | undefined): void {
    const pending = own ?? calls.get(idOf(message))
    if (pending === undefined || !calls.delete(pending.id)) return
    pending.linger()
    pending.sink.response(message)
  }

  function request(message: IncomingRequest, own: Pending | undefined): void {
    if (message.method === 'ping') {
      void answer(message.id, EMPTY_RESULT).catch(() => undefined)
      return
    }
    const [holder] = holders
    if (own !== undefined) own.sink.question(message, true)
    else if (holder !== undefined && holders.size === 1) {
      outside.seen(message)
      holder.question(message, false)
    } else if (message.method === 'roots/list' && options.declaresRoots) roots.push(message)
    else if (holders.size === 0 && calls.size === 1) alone()?.question(message, false)
    else outside.ask(message, (id, payload) => void answer(id, payload).catch(() => undefined))
  }

  /** On a shared session with one call in flight there is no doubt whose question it is (design §4.3). */
  function alone(): CallSink | undefined {
    const [pending] = calls.values()
    return pending?.sink
  }

  function notification(message: IncomingNotification, own: Pending | undefined): void {
    const target = own?.sink ?? (holders.size === 1 ? [...holders][0] : undefined)
    if (message.method === 'notifications/cancelled') {
      const id = at(message.root, 'params', 'requestId')
      if (id === undefined) return
      const text = textOf(message.text, id).toString('latin1')
      roots = roots.filter((each) => each.id.toString('latin1') !== text)
      target?.withdrawn(text)
    } else if (message.method === 'notifications/progress') {
      const token = at(message.root, 'params', 'progressToken')
      // Ours are the ids of the calls they belong to, so progress finds its call on any stream.
      const call =
        token &&
        calls.get(Number(stringOf(message.text, token) ?? textOf(message.text, token).toString('latin1')))
      call?.sink.notification(message, call === own)
    } else if (message.method === 'notifications/elicitation/complete') {
      const id = stringOf(message.text, at(message.root, 'params', 'elicitationId'))
      if (id !== undefined) completions.heard(id)
    } else target?.notification(message, own !== undefined)
  }

  function deliver(message: Incoming, own: Pending | undefined): void {
    switch (message.kind) {
      case 'response':
        return respond(message, own)
      case 'request':
        return request(message, own)
      case 'notification':
        return notification(message, own)
      default:
        message satisfies never
    }
  }

  function call(id: number, body: Buffer, sender: Headers, sink: CallSink): Call {
    called = true
    credentials = sender
    let ended = false
    const pending: Pending = { id, sink, linger }
    calls.set(id, pending)
    const post = channel.post(body, sender, {
      message(message) {
        // A response on the POST's own stream is this call's whatever its id, unless it names another of ours.
        const foreign = message.kind === 'response' && idOf(message) !== id && calls.has(idOf(message))
        deliver(message, foreign ? undefined : pending)
      },
      accepted: closedStream,
      ended: closedStream,
      refused(refused) {
        ended = true
        const { response, failure } = refusedCall(refused, channel.sessionful())
        if (response !== undefined) respond(response, pending)
        else if (failure !== undefined) over(failure)
      },
      failed(error, sent) {
        ended = true
        over({ error, notRun: !sent, lost: false, fault: error.reason === 'upstream_protocol' })
      },
    })

    function closedStream(): void {
      ended = true
      // On HTTP+SSE the response always comes on the other stream.
      if (!calls.has(id) || channel.kind === 'http+sse') return
      const error = new GatewayError(
        'upstream_closed',
        'the upstream ended the response without answering the call',
      )
      after(channel.listening() ? NO_RESPONSE_WAIT_MS : 0, () =>
        over({ error, notRun: false, lost: false, fault: false }),
      )
    }

    function over(failure: CallFailure): void {
      if (!calls.delete(id)) return
      sink.failed(failure)
      if (failure.lost) lost()
      else if (failure.fault) retire()
    }

    function linger(): void {
      if (ended) return
      after(LINGER_MS, () => {
        if (!ended) post.abort()
      })
    }

    return {
      drop() {
        calls.delete(id)
        post.abort()
      },
    }
  }

  async function answer(id: Buffer, payload: Buffer, sender?: Headers): Promise<void> {
    await answering.answer(id, payload, sender ?? credentials)
    if (sender !== undefined) credentials = sender
  }

  async function notify(body: Buffer, sender?: Headers): Promise<void> {
    if (!closed) await answering.notify(body, sender ?? credentials).catch(() => undefined)
  }

  function retire(): void {
    if (retired) return
    retired = true
    options.onRetired()
  }

  function lost(
    error = new GatewayError('upstream_closed', 'the upstream no longer knows the session'),
  ): void {
    if (closed) return
    closed = true
    retired = true
    const failed = [...calls.values()]
    calls.clear()
    for (const { sink } of failed) sink.failed({ error, notRun: false, lost: true, fault: false })
    for (const holder of holders) holder.lost(error)
    options.onLost(error)
    void channel.close(credentials)
    stopTimers()
  }

  function after(ms: number, act: () => void): void {
    const stop = clock.after(ms, () => {
      timers.delete(stop)
      act()
    })
    timers.add(stop)
  }

  function stopTimers(): void {
    for (const stop of timers) stop()
    timers.clear()
    answering.close()
    completions.close()
  }

  const session: Session = {
    handshake: options.handshake,
    listening: () => channel.listening(),
    sessionful: () => channel.sessionful(),
    inFlight: () => calls.size,
    call,
    notify,
    answer,
    attach(holder) {
      holders.add(holder)
      return () => void holders.delete(holder)
    },
    completed: (ids, ms) => (channel.listening() && !closed ? completions.wait(ids, ms) : Promise.resolve()),
    takeRoots() {
      const taken = roots
      roots = []
      return taken
    },
    keepRoots(requests) {
      roots.push(...requests)
    },
    fresh: () => !called,
    retired: () => retired,
    retire,
    async close() {
      if (closed) return
      closed = true
      retired = true
      stopTimers()
      await channel.close(credentials)
    },
  }
  const shared: SharedSink = { message: (message) => deliver(message, undefined), lost, deaf: retire }
  return { session, shared }
}

interface Pending {
  readonly id: number
  readonly sink: CallSink
  linger(): void
}

const EMPTY_RESULT = Buffer.from('"result":{}')

const idOf = (message: IncomingResponse): number => Number(message.id?.toString('latin1') ?? 'NaN')
