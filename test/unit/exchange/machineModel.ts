import { initialState, transition } from '../../../src/exchange/machine.ts'
import type { Effect, Event, Limits, State } from '../../../src/exchange/state.ts'

export const limits: Limits = {
  settleMs: 15,
  rootsQuietMs: 250,
  graceMs: 2000,
  holdMs: 50_000,
  holdTtlMs: 30_000,
  inputTtlMs: 600_000,
}

export type Outcome = { readonly result: number }

/**
 * A world around one exchange: an upstream that asks and answers, and clients that come, answer and go. It does
 * what the effects say and keeps the books that the invariants of design §5 are checked against.
 */
export function createWorld() {
  let state: State<Outcome> = initialState()
  let now = 0
  let legs = 0
  let questions = 0
  const sends: number[] = []
  const terminal = new Map<number, number>()
  const connected = new Set<number>()
  const owed = new Map<number, number>()
  const withdrawn = new Set<number>()
  const timers = new Set<string>()
  const released: boolean[] = []
  const patient = new Set<number>()
  let cancels = 0
  let clock = false
  let ended: 'remember' | 'forget' | undefined
  let resulted = false
  let leasing = false
  let leases = 0
  let postponed = 0

  function apply(event: Event<Outcome>): readonly Effect<Outcome>[] {
    const [next, effects] = transition(state, event, limits)
    state = next
    for (const effect of effects) perform(effect)
    check()
    return effects
  }

  function told(numbers: readonly number[]): void {
    for (const leg of numbers) {
      terminal.set(leg, (terminal.get(leg) ?? 0) + 1)
      connected.delete(leg)
    }
  }

  function perform(effect: Effect<Outcome>): void {
    switch (effect.do) {
      case 'lease':
        if (leasing) fail('leased twice')
        leasing = true
        break
      case 'send':
        sends.push(now)
        break
      case 'answer':
      case 'abandon':
      case 'refuse':
        owed.set(effect.id, (owed.get(effect.id) ?? 0) + 1)
        break
      case 'ask':
      case 'reply':
      case 'fail':
        told(effect.legs)
        break
      case 'cancel':
        cancels += 1
        break
      case 'release':
        released.push(effect.clean)
        leases -= 1
        if (leases !== 0) fail('released what was not leased')
        break
      case 'timer':
        timers.add(effect.name)
        break
      case 'stop':
        timers.delete(effect.name)
        break
      case 'clock':
        clock = effect.run
        break
      case 'remember':
      case 'forget':
        if (ended !== undefined) throw new Error('ended twice')
        ended = effect.do
        break
      default:
        effect satisfies never
    }
  }

  function fail(what: string): never {
    throw new Error(`${what}: ${JSON.stringify(state)}`)
  }

  function check(): void {
    if (sends.length > 1 + postponed) fail('the call was sent twice')
    if (cancels > 1) fail('cancelled twice')
    if (released.length > 1 + postponed) fail('released twice')
    for (const [leg, times] of terminal) if (times > 1) fail(`leg ${leg} got ${times} terminal messages`)
    for (const [id, times] of owed) if (times > 1) fail(`question ${id} was answered ${times} times`)
    for (const leg of state.legs) if (!connected.has(leg)) fail(`leg ${leg} is not connected`)
    for (const { id } of state.pending)
      if ((owed.get(id) ?? 0) > 0) fail(`question ${id} is answered and pending`)
    const over = state.phase === 'ended' || state.phase === 'lost'
    if (over !== (ended !== undefined)) fail('the end was not told, or too early')
    if (over && (timers.size > 0 || clock)) fail('a timer runs on after the end')
    if (over && connected.size > 0) fail('a leg waits for an exchange that is over')
    if (over && state.leased) fail('the lease was kept')
    if (state.phase === 'running' && state.legs.length === 0) fail('running for nobody')
    if (state.phase === 'suspended' && state.legs.length > 0) fail('a leg waits for a person')
    if (state.phase === 'suspended' && clock) fail('the upstream clock runs for a person')
    if (state.phase === 'suspended' && !timers.has('ttl')) fail('suspended without a deadline')
    if (state.phase === 'detached' && !timers.has('grace')) fail('detached without a deadline')
    if (state.phase === 'running' && state.sent && state.pending.length > 0 && !timers.has('settle'))
      fail('a question nobody will ask')
    if (over && leases > 0) fail('the lease was kept')
    if (released.at(-1) === true && leases === 0) {
      // Given back to the pool: nothing of this call may be open (design §4.4).
      const open = [...Array(questions).keys()]
        .map((i) => i + 1)
        .filter((id) => !owed.has(id) && !withdrawn.has(id) && !patient.has(id))
      if (sends.length > postponed && open.length > 0) fail(`released clean with open questions ${open}`)
      if (sends.length > postponed && !resulted) fail('released clean without the upstream’s own response')
    }
  }

  return {
    state: () => state,
    timers,
    connected,
    apply,
    pass: (ms: number) => {
      now += ms
    },
    start() {
      legs += 1
      connected.add(legs)
      apply({ on: 'start', leg: legs })
    },
    lease() {
      if (!leasing) return
      leasing = false
      if (ended !== undefined) return
      leases += 1
      apply({ on: 'leased' })
    },
    postpone(count: number) {
      if (!state.leased || !state.sent || postponed > 2) return
      for (const { id } of state.pending) withdrawn.add(id)
      const ids = Array.from({ length: count }, () => {
        questions += 1
        return questions
      })
      postponed += 1
      apply({ on: 'postponed', ids })
    },
    unsent() {
      if (!state.leased || !state.sent || state.phase === 'suspended' || postponed > 2) return
      for (const { id } of state.pending) withdrawn.add(id)
      postponed += 1
      apply({ on: 'unsent' })
    },
    ask(rides: boolean) {
      if (!state.leased && state.phase !== 'starting') return
      questions += 1
      if (rides) patient.add(questions)
      apply({ on: 'question', id: questions, patient: rides, now })
    },
    withdraw(index: number) {
      const question = state.pending[index % Math.max(1, state.pending.length)]
      if (question === undefined) return
      withdrawn.add(question.id)
      apply({ on: 'withdrawn', id: question.id })
    },
    result() {
      if (!state.leased || !state.sent) return
      resulted = true
      apply({ on: 'result', outcome: { result: 1 } })
    },
    /** A client comes back to a round with the answers that `pick` selects. */
    retry(back: number, pick: (id: number) => boolean, digest: string) {
      const round = state.rounds.at(-1 - (back % Math.max(1, state.rounds.length)))
      if (round === undefined) return
      legs += 1
      connected.add(legs)
      const open = round.digest === undefined && state.held === undefined
      const accepted = open
        ? state.pending.map((each) => each.id).filter((id) => round.shown.includes(id) && pick(id))
        : []
      apply({ on: 'retry', leg: legs, round: round.number, digest, accepted, now })
    },
    leave(index: number) {
      const leg = [...connected][index % Math.max(1, connected.size)]
      if (leg === undefined) return
      connected.delete(leg)
      apply({ on: 'leave', leg })
    },
    fire(name: 'settle' | 'hold' | 'grace' | 'ttl') {
      if (!timers.delete(name)) return
      if (name === 'settle') apply({ on: 'quiet', quietMs: 1000 })
      else apply({ on: name === 'hold' ? 'held' : name === 'grace' ? 'graceOver' : 'expired' })
    },
    unauthorized() {
      const answered = [...owed.keys()].filter((id) => !state.pending.some((each) => each.id === id))
      const id = answered.at(-1)
      // After the end it is the lease that finds out: it is given back only when every answer has arrived.
      if (id === undefined || state.rounds.length === 0 || ended !== undefined || state.held !== undefined)
        return
      owed.delete(id)
      apply({ on: 'unauthorized', ids: [id], error: new Error('401') })
    },
  }
}
