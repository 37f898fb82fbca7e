import type { Clock } from '../clock.ts'
import { GatewayError, UpstreamRefusal } from '../errors.ts'
import type { IncomingRequest, IncomingResponse } from '../mcp/message.ts'
import { covers } from '../mcp/question.ts'
import type { Answer, Caller, ModernRequest } from '../mcp/request.ts'
import { requestUp } from '../mcp/requestUp.ts'
import { urlElicitations } from '../mcp/urlElicitations.ts'
import type { Want } from '../upstream/pool.ts'
import type { CallSink, Headers, Session } from '../upstream/session.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { type Asked, type AskedBook, createAsked, digestOf, readEntries } from './asked.ts'
import { createDeadline } from './deadline.ts'
import { inputRequired } from './inputRequired.ts'
import { abandonedAnswer, checkInputResponse } from './inputResponses.ts'
import { createIntake, type Taken } from './intake.ts'
import { createKeepWaiting } from './keepWaiting.ts'
import { createLegs, type Leg } from './legs.ts'
import { createLine } from './line.ts'
import { initialState, transition } from './machine.ts'
import { missingCapability } from './missingCapability.ts'
import type { Outcome } from './outcome.ts'
import { type Hints, outcomeOf, undeclaredMethod } from './outcomeOf.ts'
import {
  type Effect,
  type Event,
  type Limits,
  MAX_QUESTIONS_PER_ROUND,
  type Round,
  type State,
  type TimerName,
} from './state.ts'
import { completionOf, declinedBy, urlQuestion } from './urlRound.ts'

export interface ExchangeOptions {
  readonly upstream: Upstream
  readonly clock: Clock
  readonly limits: Limits
  readonly want: Want
  /** Its session is its alone. */
  readonly exclusive: boolean
  /** It may be asked: the method has rounds and its client declared something. */
  readonly mayAsk: boolean
  /** The method has rounds at all. */
  readonly rounds: boolean
  readonly requestTimeoutMs: number
  readonly maxTimeoutMs: number
  readonly hints: Hints
  /** Seals the request state of a round. */
  readonly seal: (round: Round, first: ModernRequest, caller: Caller) => string
  /** Has the upstream send log messages of this level on the session. */
  readonly setLogLevel: (session: Session, level: string, credentials: Headers) => Promise<void>
  readonly onSuspended: (yes: boolean) => void
  /** It asked its client; calls of this name are known to ask from now on. */
  readonly onAsked: () => void
  readonly onEnd: (kept: { state: State<Outcome>; keys: string[] } | undefined) => void
}

/** One logical client call, over all its legs and rounds (design §5). */
export interface Exchange {
  /** Takes the retry of a round. */
  retry(request: ModernRequest, answer: Answer, round: number): void
  suspended(): boolean
  legs(): number
  /** Ends it now: whoever is connected gets `error`, questions are answered for nobody. */
  drain(error: GatewayError): void
  /** Resolves when its lease is given back. */
  readonly released: Promise<void>
}

/** Starts the exchange of a first leg: the shell that performs what `machine` decides. */
export function startExchange(options: ExchangeOptions, first: ModernRequest, firstAnswer: Answer): Exchange {
  const { clock, limits } = options
  const legs = createLegs()
  const asked: AskedBook = createAsked()
  const tokens = new Map<number, string>()
  const timers = new Map<TimerName, () => void>()
  const take = createIntake({ book: asked, first, mayAsk: options.mayAsk })
  /** What was refused upstream for want of a declared capability (M-BASE-16). */
  let undeclared: Readonly<Record<string, unknown>> | undefined
  let state: State<Outcome> = initialState()
  /** An answer of the latest round reached the upstream. */
  let delivered = false
  let lastHeardMs = clock.now()
  /** The session whose upstream wants URLs opened before the call runs. */
  let postponedBy: Session | undefined
  let queue: Event<Outcome>[] | undefined
  let releasing = Promise.resolve()
  let released = (): void => undefined
  const whenReleased = new Promise<void>((resolve) => {
    released = resolve
  })

  const deadline = createDeadline(clock, options.requestTimeoutMs, options.maxTimeoutMs, () => {
    dispatch({
      on: 'timeout',
      error: new GatewayError('upstream_timeout', 'the upstream did not answer in time'),
    })
  })
  const waiting = createKeepWaiting(clock, (message) => void line.session()?.notify(message))

  const sink: CallSink = {
    question(request, own) {
      heard()
      question(request, !own && state.sent)
    },
    withdrawn(id) {
      const found = asked.find(id)
      if (found === undefined) return
      found.withdrawn = true
      dispatch({ on: 'withdrawn', id: found.id })
    },
    notification(notification, own) {
      heard()
      if (notification.method === 'notifications/progress') deadline.touch()
      if (own || OFF_STREAM.has(notification.method)) legs.notify(notification)
    },
    lost: upstreamLost,
    response,
    failed: ({ error }) => upstreamLost(error),
  }

  const line = createLine(
    {
      upstream: options.upstream,
      want: options.want,
      exclusive: options.exclusive,
      sink,
      repeatable: REPEATABLE.has(first.method),
      body: (id, { handshake }) =>
        requestUp(first, {
          id,
          revision: handshake.revision,
          ...(first.envelope.progressToken === undefined ? {} : { progressToken: id }),
        }),
    },
    clock.after,
  )

  function heard(): void {
    lastHeardMs = clock.now()
  }

  /** Runs the machine; events that its effects raise wait their turn. */
  function dispatch(event: Event<Outcome>): void {
    if (queue !== undefined) {
      queue.push(event)
      return
    }
    queue = [event]
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const before = state.phase
      const [after, effects] = transition(state, next, limits)
      state = after
      for (const effect of effects) perform(effect)
      if (before !== after.phase) phaseChanged(before, after.phase)
    }
    queue = undefined
  }

  function phaseChanged(before: State<Outcome>['phase'], now: State<Outcome>['phase']): void {
    if ((now === 'suspended') === (before === 'suspended')) return
    line.suspended(now === 'suspended')
    options.onSuspended(now === 'suspended')
    if (now !== 'suspended') waiting.stop()
    else for (const { id } of state.pending) waiting.watch(asked.get(id)?.question.progressToken)
  }

  function perform(effect: Effect<Outcome>): void {
    switch (effect.do) {
      case 'lease':
        return void lease()
      case 'send':
        return line.send(credentials())
      case 'answer':
        return answer(effect.id)
      case 'abandon':
        return abandon(effect.id)
      case 'refuse':
        return refuse(asked.get(effect.id)?.request, TOO_MANY)
      case 'ask':
        return ask(effect.round, effect.legs)
      case 'reply':
        return each(effect.legs, (leg) => reply(leg, effect.outcome))
      case 'fail':
        return each(effect.legs, (leg) => leg.answer.fail(effect.error))
      case 'cancel':
        return line.cancel(credentials())
      case 'release':
        releasing = release(effect.clean)
        return
      case 'timer':
        return arm(effect.name, effect.ms)
      case 'stop':
        return stop(effect.name)
      case 'clock':
        return effect.run ? deadline.run() : deadline.pause()
      case 'remember':
        return end({ state, keys: keysOf(state.rounds.at(-1)) })
      case 'forget':
        return end(undefined)
      default:
        effect satisfies never
    }
  }

  function question(request: IncomingRequest, patient: boolean): void {
    const session = line.session()
    const leg = legs.newest()
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
      case 'asked':
        options.onAsked()
        return dispatch({
          on: 'question',
          id: taken.asked.id,
          patient: patient && isRoots(taken.asked),
          now: clock.now(),
        })
      case 'answered':
        return void postAnswer(taken.asked, taken.payload, leg.request.caller.credentials)
      case 'kept':
        return session.keepRoots([request])
      case 'refused':
        undeclared = taken.undeclared ?? undeclared
        return refuse(request, errorPayload(taken.code, taken.message))
      default:
        taken satisfies never
    }
  }

  /** The upstream wants URLs opened before it runs the call (X-ERR-02, X-ERR-03). */
  function response(incoming: IncomingResponse): void {
    const elicitations = options.rounds ? urlElicitations(incoming) : undefined
    if (elicitations === undefined) return result(incoming)
    if (legs.newest()?.capabilities.url !== true) {
      return dispatch({
        on: 'result',
        outcome: { kind: 'error', error: missingCapability({ elicitation: { url: {} } }) },
      })
    }
    postponedBy = line.session()
    const ids = elicitations.slice(0, MAX_QUESTIONS_PER_ROUND).map((each) => asked.add(urlQuestion(each)).id)
    dispatch({ on: 'postponed', ids })
  }

  function result(incoming: IncomingResponse): void {
    const session = line.session()
    const context = {
      first,
      handshake: session?.handshake,
      hints: options.hints,
      rounds: state.askingRounds > 0,
      undeclared,
    }
    const outcome = outcomeOf(incoming, context)
    if (outcome.kind === 'error' && outcome.error instanceof GatewayError) session?.retire()
    dispatch({ on: 'result', outcome })
  }

  function retry(request: ModernRequest, answer: Answer, number: number): void {
    const round = state.rounds.find((each) => each.number === number)
    const entries = readEntries(request, keysOf(round))
    const leg = legs.add(request, answer)
    const accepted: Asked[] = []
    try {
      if (round !== undefined && round.digest === undefined && state.held === undefined) {
        const open = state.pending
          .filter((each) => round.shown.includes(each.id))
          .map((each) => asked.get(each.id))
        for (const each of open) {
          const missing = each && covers(each.question, leg.capabilities)
          if (missing !== undefined) throw missingCapability(missing)
        }
        const revision = line.session()?.handshake.revision ?? ''
        for (const each of open) {
          const entry = each && entries.get(each.key)
          if (each === undefined || entry === undefined) continue
          each.answer = checkInputResponse(each.key, each.question, entry, revision)
          accepted.push(each)
        }
      }
    } catch (error) {
      legs.remove(leg.number)
      answer.fail(error)
      return
    }
    delivered = false
    dispatch({
      on: 'retry',
      leg: leg.number,
      round: number,
      digest: digestOf(entries),
      accepted: accepted.map((each) => each.id),
      decides: declinedBy(accepted),
      now: clock.now(),
    })
    if (answer.open) legs.catchUp(leg)
    answer.onLeave(() => dispatchLeave(leg.number))
  }

  function dispatchLeave(number: number): void {
    if (legs.remove(number) !== undefined) dispatch({ on: 'leave', leg: number })
  }

  /** An upstream that died before an answer of this round reached it died while its person was thinking. */
  function upstreamLost(error: Error): void {
    const cut = error instanceof GatewayError && error.reason !== 'upstream_protocol'
    const unheard = cut && asksAnswered() && !delivered
    const lost = new GatewayError('exchange_lost', 'the upstream was lost while the call waited', {
      cause: error,
    })
    dispatch({ on: 'upstreamLost', error: unheard ? lost : error })
  }

  const asksAnswered = (): boolean => (state.rounds.at(-1)?.shown.length ?? 0) > 0

  function answer(id: number): void {
    const question = asked.get(id)
    if (question?.answer !== undefined) void postAnswer(question, question.answer, credentials())
  }

  async function postAnswer({ id, request }: Asked, payload: Buffer, sender: Headers): Promise<void> {
    if (request === undefined) return
    const outcome = await line.answer(request.id, Buffer.concat([RESULT, payload]), sender)
    if (outcome === 'done') {
      delivered = true
      return
    }
    if (outcome instanceof UpstreamRefusal) dispatch({ on: 'unauthorized', ids: [id], error: outcome })
    else upstreamLost(outcome)
  }

  function abandon(id: number): void {
    const question = asked.get(id)
    if (question !== undefined) refuse(question.request, abandonedAnswer(question.question.kind))
  }

  function refuse(request: IncomingRequest | undefined, payload: Buffer): void {
    if (request !== undefined) void line.answer(request.id, payload, credentials())
  }

  function ask(round: Round, numbers: readonly number[]): void {
    const pending = round.shown.filter((id) => state.pending.some((each) => each.id === id))
    each(numbers, (leg) => {
      let token = tokens.get(round.number)
      if (token === undefined) {
        token = options.seal(round, first, leg.request.caller)
        tokens.set(round.number, token)
      }
      const questions = pending.length > 0 ? asked.inputRequests(pending) : undefined
      leg.answer.end(inputRequired(leg.request.id, questions, token, line.session()?.handshake.serverInfo))
    })
  }

  function reply(leg: Leg, outcome: Outcome): void {
    if (outcome.kind === 'error') leg.answer.fail(outcome.error)
    else leg.answer.end([outcome.head, leg.request.id, outcome.tail], outcome.status)
  }

  function each(numbers: readonly number[], act: (leg: Leg) => void): void {
    for (const number of numbers) {
      const leg = legs.remove(number)
      if (leg !== undefined) act(leg)
    }
  }

  function arm(name: TimerName, ms: number): void {
    timers.get(name)?.()
    timers.set(
      name,
      clock.after(ms, () => {
        timers.delete(name)
        if (name === 'settle') dispatch({ on: 'quiet', quietMs: clock.now() - lastHeardMs })
        else dispatch(FIRED[name])
      }),
    )
  }

  function stop(name: TimerName): void {
    timers.get(name)?.()
    timers.delete(name)
  }

  /** Roots that nobody told stay with the session, which asks for them again of its next lease (design §4.8). */
  async function release(clean: boolean): Promise<void> {
    const session = line.session()
    const untold = [...asked.all()].filter(
      (each) => isRoots(each) && each.answer === undefined && !each.withdrawn,
    )
    if (clean) session?.keepRoots(untold.flatMap((each) => each.request ?? []))
    await line.release(clean)
  }

  function end(kept: { state: State<Outcome>; keys: string[] } | undefined): void {
    deadline.stop()
    waiting.stop()
    line.giveUp()
    options.onEnd(kept)
    void releasing.then(released)
  }

  const keysOf = (round: Round | undefined): string[] =>
    (round?.shown ?? []).flatMap((id) => asked.get(id)?.key ?? [])
  const credentials = (): Headers => legs.newest()?.request.caller.credentials ?? first.caller.credentials

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
      if (logLevel !== undefined && options.exclusive)
        await options.setLogLevel(session, logLevel, credentials())
      if (options.mayAsk) for (const request of session.takeRoots()) question(request, patient)
      dispatch({ on: 'leased' })
    } catch (error) {
      dispatch({ on: 'refused', error })
    }
  }

  const leg = legs.add(first, firstAnswer)
  dispatch({ on: 'start', leg: leg.number })
  firstAnswer.onLeave(() => dispatchLeave(leg.number))

  return {
    retry,
    suspended: () => state.phase === 'suspended',
    legs: legs.connected,
    drain: (error) => dispatch({ on: 'drained', error }),
    released: whenReleased,
  }
}

const isRoots = (asked: Asked): boolean => asked.question.kind === 'roots'

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

const FIRED = {
  hold: { on: 'held' },
  grace: { on: 'graceOver' },
  ttl: { on: 'expired' },
} as const

const RESULT = Buffer.from('"result":')
const errorPayload = (code: number, message: string): Buffer =>
  Buffer.from(`"error":${JSON.stringify({ code, message })}`)
const TOO_MANY = errorPayload(-32603, 'this call has asked too many questions')
