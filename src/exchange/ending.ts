import { GatewayError } from '../errors.ts'
import type { Effect, Event, Limits, State } from './state.ts'
import { close, lastRound, type Step } from './step.ts'

// How an exchange ends, and what is still said after it: the part of the machine where leases are given back.

/** Ended exchanges answer repeats of their last retry and refuse what still asks them something. */
export function afterTheEnd<O>(state: State<O>, event: Event<O>): Step<O> {
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

/** The result wins over whatever was being asked; if nobody is there to take it, it waits for the retry. */
export function result<O>(state: State<O>, outcome: O): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: isClean(state) }] : []
  const next = { ...state, leased: false, pending: [] }
  if (state.phase === 'suspended') return [{ ...next, held: outcome }, release]
  return end({ ...next, final: outcome }, [{ do: 'reply', legs: state.legs, outcome }, ...release])
}

/** A first leg that leaves cancels; a retry's last leg leaves a while for the same retry to come back. */
export function leave<O>(state: State<O>, leg: number, limits: Limits): Step<O> {
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

export function upstreamLost<O>(state: State<O>, error: unknown): Step<O> {
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
export function cancelled<O>(state: State<O>, effects: readonly Effect<O>[]): Step<O> {
  const release: Effect<O>[] = state.leased ? [{ do: 'release', clean: !state.sent }] : []
  const cancel: Effect<O>[] = state.sent && state.held === undefined ? [{ do: 'cancel' }] : []
  return end({ ...state, leased: false, pending: [], held: undefined }, [...effects, ...cancel, ...release])
}

/** Nobody came back: every question is owed an answer before the call is cancelled (X-ANS-07). */
export function abandoned<O>(state: State<O>, effects: readonly Effect<O>[]): Step<O> {
  const owed = state.sent ? state.pending : []
  return cancelled(state, [...effects, ...owed.map((each) => ({ do: 'abandon', id: each.id }) as const)])
}

export function end<O>(state: State<O>, effects: readonly Effect<O>[]): Step<O> {
  const kept: Effect<O> =
    state.final !== undefined && state.rounds.length > 0
      ? { do: 'remember', outcome: state.final }
      : { do: 'forget' }
  const stops = (['settle', 'hold', 'grace', 'ttl'] as const).map((name) => ({ do: 'stop', name }) as const)
  const ended: State<O> = { ...state, phase: 'ended', legs: [], settleBy: undefined }
  return [ended, [...effects, ...stops, { do: 'clock', run: false }, kept]]
}

/** Clean for the next lease: no question of the call itself is left open (design §4.4). */
export const isClean = <O>(state: State<O>): boolean => state.pending.every((each) => each.patient)

export const failTaken = <O>(leg: number): Effect<O> => ({
  do: 'fail',
  legs: [leg],
  error: new GatewayError('state_rejected', 'this request state was already used with other answers', {
    inner: 'other_answers',
  }),
})

export const failLost = <O>(leg: number): Effect<O> => ({
  do: 'fail',
  legs: [leg],
  error: new GatewayError('exchange_lost', 'the call that this request state belongs to is over'),
})
