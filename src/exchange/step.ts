import { type Effect, LAST_HELD_ROUND, type Limits, type Round, type State } from './state.ts'

/** What a rule of the machine yields: the next state, and what has to be done. */
export type Step<O> = readonly [State<O>, readonly Effect<O>[]]

export const lastRound = <O>(state: State<O>): Round | undefined => state.rounds.at(-1)

export const nextNumber = <O>(state: State<O>): number => (lastRound(state)?.number ?? 0) + 1

export const close = <O>(state: State<O>, event: { round: number; digest: string }): Round[] =>
  state.rounds.map((each) => (each.number === event.round ? { ...each, digest: event.digest } : each))

export const holdTimer = <O>(state: State<O>, limits: Limits): Effect<O>[] =>
  limits.holdMs > 0 && state.rounds.length < LAST_HELD_ROUND
    ? [{ do: 'timer', name: 'hold', ms: limits.holdMs }]
    : []
