import { abandoned, afterTheEnd, cancelled, end, leave, result, upstreamLost } from './ending.ts'
import { held, leased, postponed, question, quiet, retry, unauthorized, unsent, withdrawn } from './rounds.ts'
import type { Event, Limits, State } from './state.ts'
import { holdTimer, type Step } from './step.ts'

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
    case 'unsent':
      return unsent(state)
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
