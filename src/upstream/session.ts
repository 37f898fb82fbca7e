import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { announces } from '../mcp/change.ts'
import type { Incoming, IncomingNotification, IncomingRequest } from '../mcp/message.ts'
import { at, stringOf, textOf } from '../mcp/scan.ts'
import { createAnswering } from './answering.ts'
import { type Call, type CallSink, createCalls, type Holder } from './call.ts'
import type { Channel, Headers, SharedSink } from './channel.ts'
import { createCompletions } from './completions.ts'
import type { Handshake } from './handshake.ts'
import type { Outside } from './outside.ts'

export type { Call, CallSink, Holder } from './call.ts'
export type { Headers } from './channel.ts'
export type { Handshake } from './handshake.ts'

/** One initialised legacy session (design §4). */
export interface Session {
  readonly handshake: Handshake
  /** Server messages can come outside of responses. */
  listening(): boolean
  sessionful(): boolean
  /** Calls without their response. */
  inFlight(): number
  /** Sends a request of this id; `body` is the whole message. On a session that is gone it fails, not run. */
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
  /** A list or a resource changed: no call's business, whatever stream it is said on (M-HTTP-08). */
  readonly onAnnounced: (notification: IncomingNotification) => void
  readonly onLost: (error: GatewayError) => void
  readonly onRetired: () => void
}

/** Routes what an initialised session says to its calls and its holder; `shared` is its channel's sink. */
export function createSession(options: SessionOptions): { session: Session; shared: SharedSink } {
  const { channel, clock, outside } = options
  const holders = new Set<Holder>()
  const timers = new Set<() => void>()
  let credentials = options.credentials
  let roots: IncomingRequest[] = []
  let called = false
  let retired = false
  let closed = false
  const answering = createAnswering({ channel, clock })
  const completions = createCompletions(clock)
  const calls = createCalls({
    channel,
    after,
    retire,
    lost: () => lost(forgotten()),
    deliver: (message, own) => (own === undefined ? late(message) : ofCall(message, own)),
  })

  /** On the response to a call's own POST. */
  function ofCall(message: IncomingRequest | IncomingNotification, own: CallSink): void {
    if (message.kind === 'request') {
      if (!pong(message)) own.question(message, true)
    } else notification(message, own, true)
  }

  /** On such a response whose call is over: the next holder has nothing to do with it. */
  function late(message: IncomingRequest | IncomingNotification): void {
    if (message.kind === 'request') {
      if (!pong(message)) nobody(message)
    } else notification(message, undefined, false)
  }

  /** On the shared stream: it belongs to whoever holds the session, and nothing is guessed (design §4.2). */
  function shared(message: Incoming): void {
    if (message.kind === 'response') calls.respond(message)
    else if (message.kind === 'notification') notification(message, holder(), false)
    else if (!pong(message)) question(message)
  }

  const holder = (): Holder | undefined => (holders.size === 1 ? [...holders][0] : undefined)

  function question(message: IncomingRequest): void {
    const held = holder()
    if (held !== undefined) {
      if (outside.seen(message, session)) held.question(message, false)
      else reply(message.id, UNATTRIBUTED)
    } else if (message.method === 'roots/list' && options.declaresRoots) roots.push(message)
    // On a shared session with one call in flight there is no doubt whose question it is (design §4.3).
    else if (holders.size === 0 && calls.size() === 1) calls.alone()?.question(message, false)
    else nobody(message)
  }

  const nobody = (message: IncomingRequest): void => outside.ask(message, reply)

  function reply(id: Buffer, payload: Buffer): void {
    void answer(id, payload).catch(() => undefined)
  }

  function pong(message: IncomingRequest): boolean {
    if (message.method !== 'ping') return false
    reply(message.id, EMPTY_RESULT)
    return true
  }

  function notification(message: IncomingNotification, target: Holder | undefined, own: boolean): void {
    if (announces(message)) options.onAnnounced(message)
    else if (message.method === 'notifications/cancelled') {
      const id = at(message.root, 'params', 'requestId')
      if (id === undefined) return
      const text = textOf(message.text, id).toString('latin1')
      roots = roots.filter((each) => each.id.toString('latin1') !== text)
      target?.withdrawn(text)
    } else if (message.method === 'notifications/progress') {
      // Ours are the ids of the calls they belong to, so progress finds its call on any stream.
      const token = at(message.root, 'params', 'progressToken')
      const id = token && (stringOf(message.text, token) ?? textOf(message.text, token).toString('latin1'))
      const call = calls.find(Number(id))
      call?.notification(message, own && call === target)
    } else if (message.method === 'notifications/elicitation/complete') {
      const id = stringOf(message.text, at(message.root, 'params', 'elicitationId'))
      if (id !== undefined) completions.heard(id)
    } else target?.notification(message, own)
  }

  async function answer(id: Buffer, payload: Buffer, sender?: Headers): Promise<void> {
    try {
      await answering.answer(id, payload, sender ?? credentials)
      if (sender !== undefined) credentials = sender
    } catch (error) {
      // The upstream refuses every later message too (X-ANS-09).
      if (error instanceof GatewayError && error.reason === 'upstream_closed') retire()
      throw error
    }
  }

  function retire(): void {
    if (retired) return
    retired = true
    options.onRetired()
  }

  function lost(error: GatewayError): void {
    if (closed) return
    closed = true
    retired = true
    calls.fail(error)
    for (const each of holders) each.lost(error)
    options.onLost(error)
    stop()
    void channel.close(credentials)
  }

  function after(ms: number, act: () => void): void {
    if (closed) return
    const cancel = clock.after(ms, () => {
      timers.delete(cancel)
      act()
    })
    timers.add(cancel)
  }

  function stop(): void {
    for (const cancel of timers) cancel()
    timers.clear()
    answering.close()
    completions.close()
  }

  const session: Session = {
    handshake: options.handshake,
    listening: () => channel.listening(),
    sessionful: () => channel.sessionful(),
    inFlight: calls.size,
    call(id, body, sender, sink) {
      if (closed) return failedCall(sink)
      called = true
      credentials = sender
      return calls.start(id, body, sender, sink)
    },
    async notify(body, sender = credentials) {
      await answering.notify(body, sender).catch(() => undefined)
    },
    answer,
    attach(each) {
      holders.add(each)
      return () => void holders.delete(each)
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
      stop()
      await channel.close(credentials)
    },
  }
  return { session, shared: { message: shared, lost, deaf: retire } }
}

/** The session ended before the call was sent. */
function failedCall(sink: CallSink): Call {
  let dropped = false
  queueMicrotask(() => {
    if (!dropped) sink.failed({ error: forgotten(), notRun: true, lost: true, fault: false })
  })
  return {
    drop() {
      dropped = true
    },
  }
}

const forgotten = (): GatewayError =>
  new GatewayError('upstream_closed', 'the upstream no longer knows the session')

const EMPTY_RESULT = Buffer.from('"result":{}')
const UNATTRIBUTED = Buffer.from('"error":{"code":-32601,"message":"it cannot be told which call asks this"}')
