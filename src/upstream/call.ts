import { GatewayError } from '../errors.ts'
import type { Incoming, IncomingNotification, IncomingRequest, IncomingResponse } from '../mcp/message.ts'
import type { Channel, Headers } from './channel.ts'
import { type CallFailure, idOf, namesDeadSession, refusedCall } from './failure.ts'

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

export interface CallsOptions {
  readonly channel: Channel
  /** Runs later, unless the session is closed by then. */
  readonly after: (ms: number, act: () => void) => void
  /** Takes what comes on the response to a call's POST and is no response; undefined once the call is over. */
  readonly deliver: (message: IncomingRequest | IncomingNotification, own: CallSink | undefined) => void
  /** The session is not to be used again, or is gone. */
  readonly retire: () => void
  readonly lost: () => void
}

interface Pending {
  readonly sink: CallSink
  /** Its progress comes on the shared stream, where the last of it may still be under way. */
  progressElsewhere: boolean
  /** The response that waits for it. */
  held: IncomingResponse | undefined
  /** Gives the POST a moment to end by itself. */
  linger(): void
}

/** How long a response may still come on the shared stream once the POST's own ended without it. */
const NO_RESPONSE_WAIT_MS = 500
/** How long a response waits for progress that the upstream sent before it, but on another stream. */
const PROGRESS_WAIT_MS = 10
/** How long a POST may stay open after its response; most end at once and leave a warm socket. */
const LINGER_MS = 1_000

/** The calls of one session that wait for their response; whichever stream brings it first. */
export function createCalls({ channel, after, deliver, retire, lost }: CallsOptions) {
  const waiting = new Map<number, Pending>()

  /** Takes a response to one of our calls; another is nobody's (L-CAN-03, L-HTTP-11). */
  function respond(response: IncomingResponse, id = idOf(response)): void {
    const pending = waiting.get(id)
    if (pending === undefined) return
    if (pending.progressElsewhere && pending.held === undefined) {
      pending.held = response
      after(PROGRESS_WAIT_MS, () => finish(id))
    } else if (pending.held === undefined) finish(id, response)
  }

  function finish(id: number, response = waiting.get(id)?.held): void {
    const pending = waiting.get(id)
    if (pending === undefined || response === undefined) return
    waiting.delete(id)
    pending.linger()
    // Some say only in an error's text that they forgot the session (case 2).
    if (!response.ok && channel.sessionful() && namesDeadSession(response.text)) retire()
    pending.sink.response(response)
  }

  function start(id: number, body: Buffer, credentials: Headers, sink: CallSink): Call {
    let ended = false
    waiting.set(id, { sink, linger, progressElsewhere: false, held: undefined })
    const post = channel.call(body, credentials, {
      message: (message, streamed) => take(message, streamed),
      accepted() {
        // A 202 sends us to the shared stream, for as long as the call may take.
        if (channel.listening()) ended = true
        else noResponse()
      },
      ended: noResponse,
      refused(refused) {
        ended = true
        const said = refusedCall(id, refused, channel.sessionful())
        if ('response' in said) respond(said.response, id)
        else over(said.failure)
      },
      failed(error, sent) {
        ended = true
        over({ error, notRun: !sent, lost: false, fault: error.reason === 'upstream_protocol' })
      },
    })

    /** A body that is no stream is the call's own response whatever its id (design §4.12). */
    function take(message: Incoming, streamed: boolean): void {
      if (message.kind !== 'response') deliver(message, waiting.has(id) ? sink : undefined)
      else if (streamed || waiting.has(idOf(message))) respond(message)
      else respond(message, id)
    }

    function noResponse(): void {
      ended = true
      // On HTTP+SSE the response comes on the other stream.
      if (!waiting.has(id) || channel.kind === 'http+sse') return
      const message = 'the upstream ended the response without answering the call'
      const error = new GatewayError('upstream_closed', message)
      after(channel.listening() ? NO_RESPONSE_WAIT_MS : 0, () =>
        over({ error, notRun: false, lost: false, fault: false }),
      )
    }

    function over(failure: CallFailure): void {
      if (waiting.get(id)?.held !== undefined) finish(id)
      if (!waiting.delete(id)) return
      // Nobody gets this session again, not even whoever is told now and tries at once.
      if (failure.lost || failure.fault) retire()
      sink.failed(failure)
      if (failure.lost) lost()
    }

    function linger(): void {
      if (!ended) after(LINGER_MS, () => post.abort())
    }

    return {
      drop() {
        waiting.delete(id)
        post.abort()
      },
    }
  }

  return {
    start,
    respond,
    size: () => waiting.size,
    /** The call of this id; our progress tokens are the ids of the calls they belong to. */
    find: (id: number): CallSink | undefined => waiting.get(id)?.sink,
    /** Progress of the call came on the shared stream of a transport whose responses come on another. */
    progressElsewhere(id: number): void {
      const pending = waiting.get(id)
      if (pending !== undefined && channel.kind === 'streamable-http') pending.progressElsewhere = true
    },
    /** The one call in flight, if there is just one. */
    alone(): CallSink | undefined {
      const [pending] = waiting.values()
      return waiting.size === 1 ? pending?.sink : undefined
    },
    /** All of them fail with the session. */
    fail(error: GatewayError): void {
      for (const [id, { held }] of waiting) if (held !== undefined) finish(id)
      const failed = [...waiting.values()]
      waiting.clear()
      for (const { sink } of failed) sink.failed({ error, notRun: false, lost: true, fault: false })
    },
  }
}

export type Calls = ReturnType<typeof createCalls>
