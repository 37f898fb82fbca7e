import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { IncomingNotification, IncomingRequest } from '../mcp/message.ts'
import { createAnswering } from './answering.ts'
import { type Call, type CallSink, createCalls, type Holder } from './call.ts'
import type { Channel, Headers, SharedSink } from './channel.ts'
import { createCompletions } from './completions.ts'
import type { Handshake } from './handshake.ts'
import type { Outside } from './outside.ts'
import { createRouting } from './routing.ts'

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

/** The session of an initialised channel, which hands what comes outside of responses to `shared`. */
export function createSession(options: SessionOptions): { session: Session; shared: SharedSink } {
  const { channel, clock, outside, declaresRoots, onAnnounced } = options
  const timers = new Set<() => void>()
  let credentials = options.credentials
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
    deliver: (message, own) => (own === undefined ? routing.late(message) : routing.ofCall(message, own)),
  })
  const routing = createRouting({
    calls,
    completions,
    outside,
    declaresRoots,
    sessionful: () => channel.sessionful(),
    after,
    onAnnounced,
    reply: (id, payload) => void answer(id, payload).catch(() => undefined),
  })

  const { attach, takeRoots, keepRoots } = routing

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
    routing.lost(error)
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
    attach,
    completed: (ids, ms) => (channel.listening() && !closed ? completions.wait(ids, ms) : Promise.resolve()),
    takeRoots,
    keepRoots,
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
  return { session, shared: { message: routing.shared, lost, deaf: retire } }
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
