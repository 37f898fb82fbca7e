import { GatewayError, UpstreamRefusal } from '../errors.ts'
import type { IncomingNotification, IncomingRequest, IncomingResponse } from '../mcp/message.ts'
import type { ModernRequest } from '../mcp/request.ts'
import { requestUp } from '../mcp/requestUp.ts'
import { urlElicitations } from '../mcp/urlElicitations.ts'
import type { CallFailure } from '../upstream/failure.ts'
import type { CallSink, Headers, Session } from '../upstream/session.ts'
import { type Asked, type AskedBook, isRoots } from './asked.ts'
import type { ExchangeOptions } from './exchange.ts'
import { abandonedAnswer } from './inputResponses.ts'
import { createIntake, type Taken } from './intake.ts'
import type { Leg } from './legs.ts'
import { createLine } from './line.ts'
import { missingCapability } from './missingCapability.ts'
import type { Outcome } from './outcome.ts'
import { outcomeOf, undeclaredMethod } from './outcomeOf.ts'
import { type Event, MAX_QUESTIONS_PER_ROUND, type State } from './state.ts'
import { completionOf, urlQuestion } from './urlRound.ts'

export interface UpstreamSideOptions {
  readonly options: ExchangeOptions
  readonly first: ModernRequest
  readonly asked: AskedBook
  readonly state: () => State<Outcome>
  readonly dispatch: (event: Event<Outcome>) => void
  /** The latest leg: its credentials and capabilities hold. */
  readonly newest: () => Leg | undefined
  /** The upstream said something about the call. */
  readonly heard: () => void
  readonly progressed: () => void
  readonly notify: (notification: IncomingNotification) => void
}

/** An exchange's dealings with its upstream: what comes becomes events, what effects ask for is sent. */
export function createUpstreamSide(side: UpstreamSideOptions) {
  const { options, first, asked, state, dispatch, newest } = side
  const { clock } = options
  const take = createIntake({ book: asked, first, mayAsk: options.mayAsk })
  /** What was refused upstream for want of a declared capability (M-BASE-16). */
  let undeclared: Readonly<Record<string, unknown>> | undefined
  /** An answer of the latest round reached the upstream. */
  let delivered = false
  let stopKeeping = (): void => undefined
  /** The session was replaced. */
  let healed = false
  /** The session whose upstream wants URLs opened before the call runs. */
  let postponedBy: Session | undefined

  const sink: CallSink = {
    question(request, own) {
      side.heard()
      question(request, !own && state().sent, own)
    },
    withdrawn(id) {
      const found = asked.find(id)
      if (found === undefined) return
      found.withdrawn = true
      dispatch({ on: 'withdrawn', id: found.id })
    },
    notification(notification, own) {
      side.heard()
      if (notification.method === 'notifications/progress') side.progressed()
      // Who declared no logging has no log messages (M-LOG-03).
      const logs = notification.method === 'notifications/message'
      if (logs && line.session()?.handshake.capabilities.logging === undefined) return
      if (own || OFF_STREAM.has(notification.method)) side.notify(notification)
    },
    response,
    lost,
    failed,
  }

  const line = createLine(
    {
      upstream: options.upstream,
      want: options.want,
      exclusive: options.exclusive,
      sink,
      body: (id, { handshake }) =>
        requestUp(first, {
          id,
          revision: handshake.revision,
          ...(first.envelope.progressToken === undefined ? {} : { progressToken: id }),
        }),
    },
    clock.after,
  )

  const credentials = (): Headers => newest()?.request.caller.credentials ?? first.caller.credentials

  async function lease(): Promise<void> {
    try {
      await completionOf(postponedBy, asked.all())
      const session = await line.lease()
      const missing = undeclaredMethod(session.handshake, first.method)
      if (missing !== undefined) {
        await line.release(true)
        throw missing
      }
      // Asked before the session's first call, roots are told before it; asked later, they ride along.
      const patient = !session.fresh()
      const { logLevel } = first.envelope
      if (logLevel !== undefined && options.exclusive) {
        await options.setLogLevel(session, logLevel, credentials())
      }
      // The client may have left meanwhile, and its lease with it.
      if (line.session() !== session) return
      if (options.mayAsk) for (const request of session.takeRoots()) question(request, patient)
      dispatch({ on: 'leased' })
    } catch (error) {
      dispatch({ on: 'refused', error })
    }
  }

  /** A dead session is replaced once; a call that may have run is never sent again (L-HTTP-08). */
  function failed({ error, notRun, lost: gone }: CallFailure): void {
    if (gone && !healed && (notRun || REPEATABLE.has(first.method))) {
      healed = true
      dispatch({ on: 'unsent' })
    } else lost(error)
  }

  function question(request: IncomingRequest, patient: boolean, own = false): void {
    const session = line.session()
    const leg = newest()
    if (session === undefined || leg === undefined) return
    let taken: Taken
    try {
      taken = take(request, leg.capabilities, session.handshake.revision)
    } catch (error) {
      session.retire()
      dispatch({ on: 'upstreamLost', error })
      return
    }
    switch (taken.is) {
      case 'asked': {
        const { id } = taken.asked
        options.onAsked()
        dispatch({ on: 'question', id, patient: patient && isRoots(taken.asked), now: clock.now() })
        break
      }
      case 'answered':
        void post(taken.asked, taken.payload, leg.request.caller.credentials)
        break
      case 'kept':
        keep(session, request, own)
        break
      case 'refused':
        undeclared = taken.undeclared ?? undeclared
        reply(request, errorPayload(taken.code, taken.message))
        break
      default:
        taken satisfies never
    }
  }

  /** Roots that nobody can be asked for now stay with the session; but whoever waits for them is not kept waiting. */
  function keep(session: Session, request: IncomingRequest, own: boolean): void {
    if (own) {
      reply(request, NOT_NOW)
      return
    }
    session.keepRoots([request])
    stopKeeping()
    stopKeeping = clock.after(KEEP_MS, () => {
      if (line.session() !== session) return
      for (const each of session.takeRoots()) reply(each, NOT_NOW)
    })
  }

  /** The upstream may want URLs opened before it runs the call (X-ERR-02, X-ERR-03). */
  function response(incoming: IncomingResponse): void {
    const elicitations = options.rounds ? urlElicitations(incoming) : undefined
    if (elicitations === undefined) {
      result(incoming)
    } else if (newest()?.capabilities.url !== true) {
      const error = missingCapability({ elicitation: { url: {} } })
      dispatch({ on: 'result', outcome: { kind: 'error', error } })
    } else {
      postponedBy = line.session()
      const ids = elicitations
        .slice(0, MAX_QUESTIONS_PER_ROUND)
        .map((each) => asked.add(urlQuestion(each)).id)
      dispatch({ on: 'postponed', ids })
    }
  }

  function result(incoming: IncomingResponse): void {
    const session = line.session()
    const { hints } = options
    const rounds = state().askingRounds > 0
    const outcome = outcomeOf(incoming, { first, handshake: session?.handshake, hints, rounds, undeclared })
    if (outcome.kind === 'error' && outcome.error instanceof GatewayError) session?.retire()
    if (outcome.kind === 'message' && incoming.ok) options.onResult?.(incoming)
    dispatch({ on: 'result', outcome })
  }

  /** An upstream that died before an answer of this round reached it died while its person was thinking. */
  function lost(error: Error): void {
    const cut = error instanceof GatewayError && error.reason !== 'upstream_protocol'
    const answered = (state().rounds.at(-1)?.shown.length ?? 0) > 0
    const message = 'the upstream was lost while the call waited'
    const unheard = cut && answered && !delivered
    dispatch({
      on: 'upstreamLost',
      error: unheard ? new GatewayError('exchange_lost', message, { cause: error }) : error,
    })
  }

  async function post({ id, request }: Asked, payload: Buffer, sender: Headers): Promise<void> {
    if (request === undefined) return
    const outcome = await line.answer(request.id, Buffer.concat([RESULT, payload]), sender)
    if (outcome === 'done') delivered = true
    else if (outcome instanceof UpstreamRefusal) dispatch({ on: 'unauthorized', ids: [id], error: outcome })
    else lost(outcome)
  }

  function reply(request: IncomingRequest | undefined, payload: Buffer): void {
    if (request !== undefined) void line.answer(request.id, payload, credentials())
  }

  return {
    session: line.session,
    lease: (): void => void lease(),
    send: () => line.send(credentials()),
    suspended: line.suspended,
    cancel: () => line.cancel(credentials()),
    giveUp(): void {
      stopKeeping()
      line.giveUp()
    },
    /** A retry brought answers: none of them has arrived yet. */
    answersCame(): void {
      delivered = false
    },
    answer(id: number): void {
      const question = asked.get(id)
      if (question?.answer !== undefined) void post(question, question.answer, credentials())
    },
    /** Answers for nobody (X-ANS-07). */
    abandon(id: number): void {
      const question = asked.get(id)
      if (question === undefined) return
      question.withdrawn = true
      reply(question.request, abandonedAnswer(question.question.kind))
    },
    refuse: (id: number) => reply(asked.get(id)?.request, TOO_MANY),
    /** Roots that nobody told stay with the session, which asks its next lease for them (design §4.8). */
    async release(clean: boolean): Promise<void> {
      const untold = [...asked.all()].filter(
        (each) => isRoots(each) && each.answer === undefined && !each.withdrawn,
      )
      if (clean) line.session()?.keepRoots(untold.flatMap((each) => each.request ?? []))
      await line.release(clean)
    },
  }
}

/** How long a list may wait for roots that it asked for on the shared stream, before it is told that there are none. */
const KEEP_MS = 1_000

/** Methods that only read, and ask nobody on the way. */
const REPEATABLE = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'completion/complete',
])

/** Notifications that may be a call's though they come on a shared stream. */
const OFF_STREAM = new Set(['notifications/progress', 'notifications/message'])

const RESULT = Buffer.from('"result":')
const errorPayload = (code: number, message: string): Buffer =>
  Buffer.from(`"error":${JSON.stringify({ code, message })}`)
const NOT_NOW = errorPayload(-32601, 'nobody can be asked during this request')
const TOO_MANY = errorPayload(-32603, 'this call has asked too many questions')
