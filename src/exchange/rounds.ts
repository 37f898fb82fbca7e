import { end, failTaken, isClean } from './ending.ts'
import type { Effect, Event, Limits, Question, Round, State } from './state.ts'
import { MAX_ASKING_ROUNDS, MAX_QUESTIONS, MAX_QUESTIONS_PER_ROUND, MAX_SKIPS } from './state.ts'
import { close, holdTimer, lastRound, nextNumber, type Step } from './step.ts'

// How questions become rounds and retries answer them: the part of the machine between lease and result.

/** The lease has come; for a call that was postponed perhaps after its last leg left. */
export function leased<O>(state: State<O>, limits: Limits): Step<O> {
  const next = { ...state, leasing: false, leased: true }
  if (state.phase === 'starting') return proceed({ ...next, phase: 'running' }, limits)
  return state.phase === 'running' ? proceed(next, limits) : [next, []]
}

/** Somebody is there again, or the lease has come: send the call if it may go, collect what is pending. */
export function proceed<O>(state: State<O>, limits: Limits, effects: readonly Effect<O>[] = []): Step<O> {
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

export function question<O>(
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

export function withdrawn<O>(state: State<O>, id: number): Step<O> {
  const pending = state.pending.filter((each) => each.id !== id)
  if (pending.length === state.pending.length) return [state, []]
  const idle = pending.length === 0 && state.phase === 'running'
  return [
    { ...state, pending, settleBy: idle ? undefined : state.settleBy },
    idle ? [{ do: 'stop', name: 'settle' }] : [],
  ]
}

export function quiet<O>(state: State<O>, quietMs: number, limits: Limits): Step<O> {
  if (state.phase !== 'running' || state.pending.length === 0) return [state, []]
  const patient = state.pending.every((each) => each.patient)
  if (patient && quietMs < limits.rootsQuietMs) {
    return [state, [{ do: 'timer', name: 'settle', ms: Math.ceil(limits.rootsQuietMs - quietMs) }]]
  }
  return settle(state, limits)
}

/** A leg was open for as long as clients bear: ask for what is pending, or just to come back. */
export function held<O>(state: State<O>, limits: Limits): Step<O> {
  // Still waiting for its session: there is nothing to come back to yet.
  if (state.phase === 'starting' || (state.phase === 'running' && !state.sent))
    return [state, holdTimer(state, limits)]
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
export function settle<O>(state: State<O>, limits: Limits): Step<O> {
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

/** The call goes out again on another session, as if it had never been sent. */
export function unsent<O>(state: State<O>): Step<O> {
  if (!state.leased || !state.sent || state.phase === 'suspended') return [state, []]
  const next = { ...state, leased: false, sent: false, leasing: true, pending: [] }
  return [next, [{ do: 'stop', name: 'settle' }, { do: 'release', clean: false }, { do: 'lease' }]]
}

/** The call waits for a person before it runs; it holds no lease meanwhile. */
export function postponed<O>(state: State<O>, ids: readonly number[], limits: Limits): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: isClean(state) }] : []
  const pending = ids.map((id) => ({ id, patient: false, skipped: 0 }))
  const next: State<O> = { ...state, leased: false, sent: false, pending, asked: state.asked + ids.length }
  if (state.phase !== 'running') return [next, release]
  const [asked, effects] = settle(next, limits)
  return [asked, [...release, ...effects]]
}

export function retry<O>(state: State<O>, event: Event<O> & { on: 'retry' }, limits: Limits): Step<O> {
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
export function repeated<O>(
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
export function unauthorized<O>(
  state: State<O>,
  event: Event<O> & { on: 'unauthorized' },
  limits: Limits,
): Step<O> {
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
