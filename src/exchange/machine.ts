import { GatewayError } from '../errors.ts'
import type { Effect, Event, Limits, Question, Round, State } from './state.ts'
import {
  LAST_HELD_ROUND,
  MAX_ASKING_ROUNDS,
  MAX_QUESTIONS,
  MAX_QUESTIONS_PER_ROUND,
  MAX_SKIPS,
} from './state.ts'

type Step<O> = readonly [State<O>, readonly Effect<O>[]]

/** An exchange before its first event. */
export function initialState<O>(): State<O> {
  return {
    phase: 'starting',
    leasing: false,
    leased: false,
    sent: false,
    legs: [],
    pending: [],
    asked: 0,
    rounds: [],
    askingRounds: 0,
    settleBy: undefined,
    held: undefined,
    final: undefined,
  }
}

/**
 * The rules of one exchange (design §5): from a state and an event to the next state and what has to be done.
 * Pure, so that every interleaving can be checked without a socket; an event that comes too late to mean
 * anything changes nothing.
 */
export function transition<O>(state: State<O>, event: Event<O>, limits: Limits): Step<O> {
  if (state.phase === 'ended' || state.phase === 'lost') return afterTheEnd(state, event)
  switch (event.on) {
    case 'start':
      return [{ ...state, legs: [event.leg], leasing: true }, [{ do: 'lease' }, ...holdTimer(state, limits)]]
    case 'leased':
      return leased(state, limits)
    case 'refused':
      return end(state, [{ do: 'fail', legs: state.legs, error: event.error }])
    case 'question':
      return question(state, event, limits)
    case 'withdrawn':
      return withdrawn(state, event.id)
    case 'quiet':
      return quiet(state, event.quietMs, limits)
    case 'held':
      return held(state, limits)
    case 'result':
      return result(state, event.outcome)
    case 'postponed':
      return postponed(state, event.ids, limits)
    case 'retry':
      return retry(state, event, limits)
    case 'unauthorized':
      return unauthorized(state, event, limits)
    case 'leave':
      return leave(state, event.leg, limits)
    case 'graceOver':
      return state.phase === 'detached' ? cancelled(state, []) : [state, []]
    case 'expired':
      return state.phase === 'suspended' ? abandoned(state, []) : [state, []]
    case 'upstreamLost':
      return upstreamLost(state, event.error)
    case 'timeout':
      if (state.phase === 'suspended') return [state, []]
      return cancelled(state, [{ do: 'fail', legs: state.legs, error: event.error }])
    case 'drained':
      return abandoned(state, [{ do: 'fail', legs: state.legs, error: event.error }])
    default:
      return event satisfies never
  }
}

/** Ended exchanges answer repeats of their last retry and refuse what still asks them something. */
function afterTheEnd<O>(state: State<O>, event: Event<O>): Step<O> {
  if (event.on === 'question') return [state, [{ do: 'refuse', id: event.id }]]
  if (event.on !== 'retry') return [state, []]
  const last = lastRound(state)
  if (state.final === undefined || last?.number !== event.round) return [state, [failLost(event.leg)]]
  if (last.digest !== undefined && last.digest !== event.digest) return [state, [failTaken(event.leg)]]
  return [
    { ...state, rounds: close(state, event) },
    [{ do: 'reply', legs: [event.leg], outcome: state.final }],
  ]
}

/** The lease has come; for a call that was postponed perhaps after its last leg left. */
function leased<O>(state: State<O>, limits: Limits): Step<O> {
  const next = { ...state, leasing: false, leased: true }
  if (state.phase === 'starting') return proceed({ ...next, phase: 'running' }, limits)
  return state.phase === 'running' ? proceed(next, limits) : [next, []]
}

/** Somebody is there again, or the lease has come: send the call if it may go, collect what is pending. */
function proceed<O>(state: State<O>, limits: Limits, effects: readonly Effect<O>[] = []): Step<O> {
  if (!state.sent && state.pending.some((each) => !each.patient)) {
    const [asked, asking] = settle(state, limits)
    return [asked, [...effects, ...asking]]
  }
  if (!state.leased)
    return [{ ...state, leasing: true }, state.leasing ? effects : [...effects, { do: 'lease' }]]
  const sent: Effect<O>[] = state.sent ? [] : [{ do: 'send' }]
  const next = { ...state, sent: true }
  const patient = next.pending.every((each) => each.patient)
  const ms = patient ? limits.rootsQuietMs : limits.settleMs
  const settleTimer: Effect<O>[] = next.pending.length > 0 ? [{ do: 'timer', name: 'settle', ms }] : []
  return [next, [...effects, ...sent, { do: 'clock', run: true }, ...settleTimer]]
}

function question<O>(
  state: State<O>,
  event: { id: number; patient: boolean; now: number },
  limits: Limits,
): Step<O> {
  if (state.asked >= MAX_QUESTIONS || state.askingRounds >= MAX_ASKING_ROUNDS) {
    return [state, [{ do: 'refuse', id: event.id }]]
  }
  const asked: Question = { id: event.id, patient: event.patient, skipped: 0 }
  const next = { ...state, asked: state.asked + 1, pending: [...state.pending, asked] }
  if (state.phase !== 'running') return [next, []]
  if (next.pending.every((each) => each.patient)) {
    return [next, [{ do: 'timer', name: 'settle', ms: limits.rootsQuietMs }]]
  }
  // Patient ones ride along with a round full or not; only the others fill it up early.
  if (next.pending.length >= MAX_QUESTIONS_PER_ROUND) return settle(next, limits)
  const settleBy = state.settleBy ?? event.now + 4 * limits.settleMs
  const ms = Math.max(0, Math.min(limits.settleMs, settleBy - event.now))
  return [{ ...next, settleBy }, [{ do: 'timer', name: 'settle', ms }]]
}

function withdrawn<O>(state: State<O>, id: number): Step<O> {
  const pending = state.pending.filter((each) => each.id !== id)
  if (pending.length === state.pending.length) return [state, []]
  const idle = pending.length === 0 && state.phase === 'running'
  return [
    { ...state, pending, settleBy: idle ? undefined : state.settleBy },
    idle ? [{ do: 'stop', name: 'settle' }] : [],
  ]
}

function quiet<O>(state: State<O>, quietMs: number, limits: Limits): Step<O> {
  if (state.phase !== 'running' || state.pending.length === 0) return [state, []]
  const patient = state.pending.every((each) => each.patient)
  if (patient && quietMs < limits.rootsQuietMs) {
    return [state, [{ do: 'timer', name: 'settle', ms: Math.ceil(limits.rootsQuietMs - quietMs) }]]
  }
  return settle(state, limits)
}

/** A leg was open for as long as clients bear: ask for what is pending, or just to come back. */
function held<O>(state: State<O>, limits: Limits): Step<O> {
  // Still waiting for its session: there is nothing to come back to yet.
  if (state.phase === 'starting' || (state.phase === 'running' && !state.sent)) return [state, holdTimer(state, limits)]
  if (state.phase !== 'running') return [state, []]
  if (state.pending.length > 0) return settle(state, limits)
  const round: Round = { number: nextNumber(state), shown: [], digest: undefined }
  return [
    { ...state, phase: 'detached', legs: [], rounds: [...state.rounds, round] },
    [
      { do: 'ask', round, legs: state.legs },
      { do: 'timer', name: 'grace', ms: limits.holdTtlMs },
    ],
  ]
}

/** Suspends: all legs get `input_required` with what is pending, at most a round's worth. */
function settle<O>(state: State<O>, limits: Limits): Step<O> {
  const shown = state.pending.slice(0, MAX_QUESTIONS_PER_ROUND).map((each) => each.id)
  const round: Round = { number: nextNumber(state), shown, digest: undefined }
  return [
    {
      ...state,
      phase: 'suspended',
      legs: [],
      rounds: [...state.rounds, round],
      askingRounds: state.askingRounds + 1,
      settleBy: undefined,
    },
    [
      { do: 'stop', name: 'settle' },
      { do: 'stop', name: 'hold' },
      { do: 'clock', run: false },
      { do: 'ask', round, legs: state.legs },
      { do: 'timer', name: 'ttl', ms: limits.inputTtlMs },
    ],
  ]
}

/** The result wins over whatever was being asked; if nobody is there to take it, it waits for the retry. */
function result<O>(state: State<O>, outcome: O): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: isClean(state) }] : []
  const next = { ...state, leased: false, pending: [] }
  if (state.phase === 'suspended') return [{ ...next, held: outcome }, release]
  return end({ ...next, final: outcome }, [{ do: 'reply', legs: state.legs, outcome }, ...release])
}

/** The call waits for a person before it runs; it holds no lease meanwhile. */
function postponed<O>(state: State<O>, ids: readonly number[], limits: Limits): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: isClean(state) }] : []
  const pending = ids.map((id) => ({ id, patient: false, skipped: 0 }))
  const next: State<O> = { ...state, leased: false, sent: false, pending, asked: state.asked + ids.length }
  if (state.phase !== 'running') return [next, release]
  const [asked, effects] = settle(next, limits)
  return [asked, [...release, ...effects]]
}

function retry<O>(state: State<O>, event: Event<O> & { on: 'retry' }, limits: Limits): Step<O> {
  const round = state.rounds.find((each) => each.number === event.round)
  if (round === undefined) return [state, [failTaken(event.leg)]]
  if (round.digest !== undefined) return repeated(state, round, event, limits)

  const decided = state.held ?? event.decides
  if (decided !== undefined) {
    const answered = { ...state, rounds: close(state, event), pending: [], held: undefined, final: decided }
    return end(answered, [{ do: 'reply', legs: [event.leg], outcome: decided }])
  }
  const open = state.pending.filter((each) => round.shown.includes(each.id))
  if (open.length > 0 && event.accepted.length === 0)
    return [state, [{ do: 'ask', round, legs: [event.leg] }]]

  const effects: Effect<O>[] = event.accepted.map((id) => ({ do: 'answer', id }))
  const pending: Question[] = []
  for (const each of state.pending) {
    if (event.accepted.includes(each.id)) continue
    const skipped = round.shown.includes(each.id) ? each.skipped + 1 : each.skipped
    if (skipped >= MAX_SKIPS || state.askingRounds >= MAX_ASKING_ROUNDS)
      effects.push({ do: 'abandon', id: each.id })
    else pending.push({ ...each, skipped })
  }
  effects.push({ do: 'stop', name: 'ttl' }, { do: 'stop', name: 'grace' }, ...holdTimer(state, limits))
  const next: State<O> = {
    ...state,
    phase: 'running',
    legs: [event.leg],
    pending,
    rounds: close(state, event),
  }
  return proceed(next, limits, effects)
}

/** The same retry again: it joins while the round's outcome is open and gets it again afterwards. */
function repeated<O>(
  state: State<O>,
  round: Round,
  event: Event<O> & { on: 'retry' },
  limits: Limits,
): Step<O> {
  if (round.digest !== event.digest) return [state, [failTaken(event.leg)]]
  const following = state.rounds.find((each) => each.number > round.number)
  if (following !== undefined) return [state, [{ do: 'ask', round: following, legs: [event.leg] }]]
  const next = { ...state, legs: [...state.legs, event.leg] }
  if (state.phase !== 'detached') return [next, []]
  const back: Effect<O>[] = [{ do: 'stop', name: 'grace' }, ...holdTimer(state, limits)]
  return proceed({ ...next, phase: 'running' }, limits, back)
}

/** Puts the round back to open: its answers did not arrive, and the credentials are the client's to mend. */
function unauthorized<O>(state: State<O>, event: Event<O> & { on: 'unauthorized' }, limits: Limits): Step<O> {
  const last = lastRound(state)
  const ids = event.ids.filter((id) => !state.pending.some((each) => each.id === id))
  if (last === undefined || ids.length === 0 || state.held !== undefined) return [state, []]
  const again = ids.map((id) => ({ id, patient: false, skipped: 0 }))
  const pending = [...state.pending, ...again].sort((a, b) => a.id - b.id)
  if (last.digest === undefined) return [{ ...state, pending }, []]
  const reopened: Round = { ...last, digest: undefined }
  return [
    {
      ...state,
      pending,
      phase: 'suspended',
      legs: [],
      settleBy: undefined,
      rounds: [...state.rounds.slice(0, -1), reopened],
    },
    [
      { do: 'stop', name: 'settle' },
      { do: 'stop', name: 'hold' },
      { do: 'stop', name: 'grace' },
      { do: 'clock', run: false },
      { do: 'fail', legs: state.legs, error: event.error },
      { do: 'timer', name: 'ttl', ms: limits.inputTtlMs },
    ],
  ]
}

/** A first leg that leaves cancels; a retry's last leg leaves a while for the same retry to come back. */
function leave<O>(state: State<O>, leg: number, limits: Limits): Step<O> {
  if (!state.legs.includes(leg)) return [state, []]
  const legs = state.legs.filter((each) => each !== leg)
  if (legs.length > 0) return [{ ...state, legs }, []]
  if (state.rounds.length === 0) return cancelled({ ...state, legs }, [])
  return [
    { ...state, legs, phase: 'detached', settleBy: undefined },
    [
      { do: 'stop', name: 'settle' },
      { do: 'stop', name: 'hold' },
      { do: 'timer', name: 'grace', ms: limits.graceMs },
    ],
  ]
}

function upstreamLost<O>(state: State<O>, error: unknown): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: false }] : []
  const next = { ...state, leased: false, pending: [] }
  if (state.held !== undefined) return [state, []]
  if (state.phase === 'suspended' || state.phase === 'detached') {
    const [ended, effects] = end(next, release)
    return [{ ...ended, phase: 'lost' }, effects]
  }
  return end(next, [{ do: 'fail', legs: state.legs, error }, ...release])
}

/** Ends the call on both sides; the session is closed, since what it still sends would meet a stranger. */
function cancelled<O>(state: State<O>, effects: readonly Effect<O>[]): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: !state.sent }] : []
  const cancel: Effect<O>[] = state.sent && state.held === undefined ? [{ do: 'cancel' }] : []
  return end({ ...state, leased: false, pending: [], held: undefined }, [...effects, ...cancel, ...release])
}

/** Nobody came back: every question is owed an answer before the call is cancelled (X-ANS-07). */
function abandoned<O>(state: State<O>, effects: readonly Effect<O>[]): Step<O> {
  const owed = state.sent ? state.pending : []
  return cancelled(state, [...effects, ...owed.map((each) => ({ do: 'abandon', id: each.id }) as const)])
}

function end<O>(state: State<O>, effects: readonly Effect<O>[]): Step<O> {
  const kept: Effect<O> =
    state.final !== undefined && state.rounds.length > 0
      ? { do: 'remember', outcome: state.final }
      : { do: 'forget' }
  const stops = (['settle', 'hold', 'grace', 'ttl'] as const).map((name) => ({ do: 'stop', name }) as const)
  const ended: State<O> = { ...state, phase: 'ended', legs: [], settleBy: undefined }
  return [ended, [...effects, ...stops, { do: 'clock', run: false }, kept]]
}

/** Clean for the next lease: no question of the call itself is left open (design §4.4). */
const isClean = <O>(state: State<O>): boolean => state.pending.every((each) => each.patient)

const lastRound = <O>(state: State<O>): Round | undefined => state.rounds.at(-1)

const nextNumber = <O>(state: State<O>): number => (lastRound(state)?.number ?? 0) + 1

const close = <O>(state: State<O>, event: { round: number; digest: string }): Round[] =>
  state.rounds.map((each) => (each.number === event.round ? { ...each, digest: event.digest } : each))

const holdTimer = <O>(state: State<O>, limits: Limits): Effect<O>[] =>
  limits.holdMs > 0 && state.rounds.length < LAST_HELD_ROUND
    ? [{ do: 'timer', name: 'hold', ms: limits.holdMs }]
    : []

const failTaken = <O>(leg: number): Effect<O> => ({
  do: 'fail',
  legs: [leg],
  error: new GatewayError('state_rejected', 'this request state was already used with other answers', {
    inner: 'other_answers',
  }),
})

const failLost = <O>(leg: number): Effect<O> => ({
  do: 'fail',
  legs: [leg],
  error: new GatewayError('exchange_lost', 'the call that this request state belongs to is over'),
})
