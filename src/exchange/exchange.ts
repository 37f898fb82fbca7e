import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import { covers } from '../mcp/question.ts'
import type { Answer, Caller, ModernRequest } from '../mcp/request.ts'
import type { Want } from '../upstream/pool.ts'
import type { Headers, Session } from '../upstream/session.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { type Asked, createAsked, digestOf, readEntries } from './asked.ts'
import { createDeadline } from './deadline.ts'
import { inputRequired } from './inputRequired.ts'
import { checkInputResponse } from './inputResponses.ts'
import { createKeepWaiting } from './keepWaiting.ts'
import { createLegs, type Leg } from './legs.ts'
import { initialState, transition } from './machine.ts'
import { missingCapability } from './missingCapability.ts'
import type { Outcome } from './outcome.ts'
import type { Hints } from './outcomeOf.ts'
import type { Effect, Event, Limits, Round, State, TimerName } from './state.ts'
import { createUpstreamSide } from './upstreamSide.ts'
import { declinedBy } from './urlRound.ts'

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
  /** Sees the upstream's result, if it is one that passes. */
  readonly onResult: ((response: IncomingResponse) => void) | undefined
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
  const asked = createAsked()
  const tokens = new Map<number, string>()
  const timers = new Map<TimerName, () => void>()
  let state: State<Outcome> = initialState()
  let lastHeardMs = clock.now()
  let queue: Event<Outcome>[] | undefined
  let releasing = Promise.resolve()
  let released = (): void => undefined
  const whenReleased = new Promise<void>((resolve) => {
    released = resolve
  })

  const deadline = createDeadline(clock, options.requestTimeoutMs, options.maxTimeoutMs, () => {
    const error = new GatewayError('upstream_timeout', 'the upstream did not answer in time')
    dispatch({ on: 'timeout', error })
  })
  const upstream = createUpstreamSide({
    options,
    first,
    asked,
    state: () => state,
    dispatch,
    newest: legs.newest,
    heard() {
      lastHeardMs = clock.now()
    },
    progressed: deadline.touch,
    notify: legs.notify,
  })
  const waiting = createKeepWaiting(clock, (message) => void upstream.session()?.notify(message))

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
      if (before !== after.phase) phaseChanged(before === 'suspended', after.phase === 'suspended')
    }
    queue = undefined
  }

  function phaseChanged(was: boolean, is: boolean): void {
    if (was === is) return
    upstream.suspended(is)
    options.onSuspended(is)
    if (!is) waiting.stop()
    else for (const { id } of state.pending) waiting.watch(asked.get(id)?.question.progressToken)
  }

  function perform(effect: Effect<Outcome>): void {
    switch (effect.do) {
      case 'lease':
        upstream.lease()
        break
      case 'send':
        upstream.send()
        break
      case 'answer':
        upstream.answer(effect.id)
        break
      case 'abandon':
        upstream.abandon(effect.id)
        break
      case 'refuse':
        upstream.refuse(effect.id)
        break
      case 'cancel':
        upstream.cancel()
        break
      case 'release':
        releasing = upstream.release(effect.clean)
        break
      case 'ask':
        ask(effect.round, effect.legs)
        break
      case 'reply':
        each(effect.legs, (leg) => reply(leg, effect.outcome))
        break
      case 'fail':
        each(effect.legs, (leg) => leg.answer.fail(effect.error))
        break
      case 'timer':
        arm(effect.name, effect.ms)
        break
      case 'stop':
        stop(effect.name)
        break
      case 'clock':
        if (effect.run) deadline.run()
        else deadline.pause()
        break
      case 'remember':
        end({ state, keys: keysOf(state.rounds.at(-1)) })
        break
      case 'forget':
        end(undefined)
        break
      default:
        effect satisfies never
    }
  }

  function retry(request: ModernRequest, answer: Answer, number: number): void {
    const round = state.rounds.find((each) => each.number === number)
    const entries = readEntries(request, keysOf(round))
    const leg = legs.add(request, answer)
    let accepted: Asked[]
    try {
      accepted = round === undefined ? [] : accept(round, leg, entries)
    } catch (error) {
      legs.remove(leg.number)
      answer.fail(error)
      return
    }
    if (accepted.length > 0) upstream.answersCame()
    const digest = digestOf(entries)
    if (round !== undefined && (round.digest ?? digest) === digest) legs.adopt(leg)
    dispatch({
      on: 'retry',
      leg: leg.number,
      round: number,
      digest,
      accepted: accepted.map((each) => each.id),
      decides: declinedBy(accepted),
      now: clock.now(),
    })
    if (answer.open) legs.catchUp(leg)
    answer.onLeave(() => left(leg.number))
  }

  /** The questions of an open round that are answered well; one bad answer, and none is (design §5.3). */
  function accept(round: Round, leg: Leg, entries: ReadonlyMap<string, Buffer>): Asked[] {
    if (round.digest !== undefined || state.held !== undefined) return []
    const open = state.pending.flatMap(({ id }) => (round.shown.includes(id) ? (asked.get(id) ?? []) : []))
    for (const { question } of open) {
      const missing = covers(question, leg.capabilities)
      if (missing !== undefined) throw missingCapability(missing)
    }
    const revision = upstream.session()?.handshake.revision ?? ''
    const checked = open.flatMap((each) => {
      const entry = entries.get(each.key)
      return entry === undefined
        ? []
        : { each, answer: checkInputResponse(each.key, each.question, entry, revision) }
    })
    for (const { each, answer } of checked) each.answer = answer
    return checked.map(({ each }) => each)
  }

  function left(number: number): void {
    if (legs.remove(number) !== undefined) dispatch({ on: 'leave', leg: number })
  }

  function ask(round: Round, numbers: readonly number[]): void {
    const pending = round.shown.filter((id) => state.pending.some((each) => each.id === id))
    each(numbers, (leg) => {
      const token = tokens.get(round.number) ?? options.seal(round, first, leg.request.caller)
      tokens.set(round.number, token)
      const questions = pending.length > 0 ? asked.inputRequests(pending) : undefined
      leg.answer.end(
        inputRequired(leg.request.id, questions, token, upstream.session()?.handshake.serverInfo),
      )
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

  function end(kept: { state: State<Outcome>; keys: string[] } | undefined): void {
    deadline.stop()
    waiting.stop()
    upstream.giveUp()
    // A lease that came while the client was leaving is nobody's, and nothing was sent on it.
    if (upstream.session() !== undefined) releasing = upstream.release(true)
    options.onEnd(kept)
    void releasing.then(released)
  }

  const keysOf = (round: Round | undefined): string[] =>
    (round?.shown ?? []).flatMap((id) => asked.get(id)?.key ?? [])

  const leg = legs.add(first, firstAnswer)
  dispatch({ on: 'start', leg: leg.number })
  firstAnswer.onLeave(() => left(leg.number))

  return {
    retry,
    suspended: () => state.phase === 'suspended',
    legs: legs.connected,
    drain: (error) => dispatch({ on: 'drained', error }),
    released: whenReleased,
  }
}

const FIRED = {
  hold: { on: 'held' },
  grace: { on: 'graceOver' },
  ttl: { on: 'expired' },
} as const
