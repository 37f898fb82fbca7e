/** What an exchange is, as plain values: the state, the events that move it, the effects they ask for (design §5). */

export interface Question {
  /** Our own number for it, unique in the exchange and rising in the order asked. */
  readonly id: number
  /** It belongs to the session, not to the call (`roots/list` on a shared stream): see `session.roots`. */
  readonly patient: boolean
  /** Retries that answered something but not this. */
  readonly skipped: number
}

/** A round as its client knows it: asked under a number, then answered once. */
export interface Round {
  readonly number: number
  /** The questions it showed; none for a round that only asks the client to come back. */
  readonly shown: readonly number[]
  /** Digest of the accepted answers; undefined while the round is open. */
  readonly digest: string | undefined
}

export type Phase = 'starting' | 'running' | 'detached' | 'suspended' | 'lost' | 'ended'

export interface State<Outcome> {
  readonly phase: Phase
  /** A lease is being waited for. */
  readonly leasing: boolean
  readonly leased: boolean
  /** The call went upstream. */
  readonly sent: boolean
  readonly legs: readonly number[]
  /** Asked, and neither answered nor withdrawn, in the order asked. */
  readonly pending: readonly Question[]
  /** Questions ever taken in. */
  readonly asked: number
  readonly rounds: readonly Round[]
  /** How many of `rounds` showed questions. */
  readonly askingRounds: number
  /** When the collecting of the next round must end, in the clock's milliseconds. */
  readonly settleBy: number | undefined
  /** The upstream's answer that came while nobody was there to take it. */
  readonly held: Outcome | undefined
  readonly final: Outcome | undefined
}

export type Event<Outcome> =
  | { readonly on: 'start'; readonly leg: number }
  | { readonly on: 'leased' }
  | { readonly on: 'refused'; readonly error: unknown }
  | { readonly on: 'question'; readonly id: number; readonly patient: boolean; readonly now: number }
  | { readonly on: 'withdrawn'; readonly id: number }
  /** The settle timer ran out; `quietMs` since the call showed its last message. */
  | { readonly on: 'quiet'; readonly quietMs: number }
  | { readonly on: 'held'; readonly leg?: number }
  | { readonly on: 'result'; readonly outcome: Outcome }
  /** The session was dead before the call ran: it needs another one. */
  | { readonly on: 'unsent' }
  /** The upstream did not run the call, since these questions come before it (`-32042`, design §5.10). */
  | { readonly on: 'postponed'; readonly ids: readonly number[] }
  | {
      readonly on: 'retry'
      readonly leg: number
      readonly round: number
      readonly digest: string
      /** Questions of the round that it answers validly. */
      readonly accepted: readonly number[]
      /** The answers themselves decide the call: it is not issued again. */
      readonly decides?: Outcome | undefined
      readonly now: number
    }
  /** The upstream would not take these answers for lack of authorization. */
  | { readonly on: 'unauthorized'; readonly ids: readonly number[]; readonly error: unknown }
  | { readonly on: 'leave'; readonly leg: number }
  | { readonly on: 'graceOver' }
  | { readonly on: 'expired' }
  | { readonly on: 'upstreamLost'; readonly error: unknown }
  | { readonly on: 'timeout'; readonly error: unknown }
  | { readonly on: 'drained'; readonly error: unknown }

export type TimerName = 'settle' | 'hold' | 'grace' | 'ttl'

export type Effect<Outcome> =
  /** Get a lease; `leased` or `refused` follows. */
  | { readonly do: 'lease' }
  /** Send the call upstream: once, unless the upstream postponed it. */
  | { readonly do: 'send' }
  /** Post what the retry gave for this question. */
  | { readonly do: 'answer'; readonly id: number }
  /** Answer for a person who did not come back (X-ANS-07). */
  | { readonly do: 'abandon'; readonly id: number }
  /** Refuse the question upstream: a limit of design §5.12 is reached. */
  | { readonly do: 'refuse'; readonly id: number }
  /** Give these legs `input_required` for the round. */
  | { readonly do: 'ask'; readonly round: Round; readonly legs: readonly number[] }
  | { readonly do: 'reply'; readonly legs: readonly number[]; readonly outcome: Outcome }
  | { readonly do: 'fail'; readonly legs: readonly number[]; readonly error: unknown }
  /** `notifications/cancelled` for the call. */
  | { readonly do: 'cancel' }
  /** Give the lease back: to the pool if clean, else the session is closed. */
  | { readonly do: 'release'; readonly clean: boolean }
  | { readonly do: 'timer'; readonly name: TimerName; readonly ms: number }
  | { readonly do: 'stop'; readonly name: TimerName }
  /** The upstream's own time limit runs, or stands still for a person. */
  | { readonly do: 'clock'; readonly run: boolean }
  /** The exchange is over: its outcome serves repeats of the last retry, or there is nothing to keep. */
  | { readonly do: 'remember'; readonly outcome: Outcome }
  | { readonly do: 'forget' }

export interface Limits {
  readonly settleMs: number
  readonly rootsQuietMs: number
  readonly graceMs: number
  /** 0 = off. */
  readonly holdMs: number
  readonly holdTtlMs: number
  readonly inputTtlMs: number
}

export const MAX_QUESTIONS_PER_ROUND = 16
export const MAX_QUESTIONS = 64
export const MAX_ASKING_ROUNDS = 16
/** From this round on a leg is held without limit, since official clients give a call ten rounds. */
export const LAST_HELD_ROUND = 8
/** A question left out this many times is answered as if nobody came back. */
export const MAX_SKIPS = 3
