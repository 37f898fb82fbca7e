import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { initialState, transition } from '../../../src/exchange/machine.ts'
import type { Event, State } from '../../../src/exchange/state.ts'
import { createWorld, limits, type Outcome } from './machineModel.ts'

type World = ReturnType<typeof createWorld>

const steps: Record<string, fc.Arbitrary<(world: World) => void>> = {
  ask: fc.boolean().map((rides) => (world) => world.ask(rides)),
  withdraw: fc.nat(20).map((index) => (world) => world.withdraw(index)),
  result: fc.constant((world) => world.result()),
  retry: fc.record({ back: fc.nat(2), bits: fc.nat(7), digest: fc.constantFrom('a', 'b') }).map(
    ({ back, bits, digest }) =>
      (world) =>
        world.retry(back, (id) => ((bits >> (id % 3)) & 1) === 1, digest),
  ),
  leave: fc.nat(5).map((index) => (world) => world.leave(index)),
  fire: fc
    .constantFrom('settle', 'hold', 'grace', 'ttl')
    .map((name) => (world) => world.fire(name as 'settle')),
  settle: fc.constant((world) => world.fire('settle')),
  lost: fc.constant((world) => void world.apply({ on: 'upstreamLost', error: new Error('lost') })),
  timeout: fc.constant((world) => void world.apply({ on: 'timeout', error: new Error('slow') })),
  drained: fc.constant((world) => void world.apply({ on: 'drained', error: new Error('draining') })),
  unauthorized: fc.constant((world) => world.unauthorized()),
  lease: fc.constant((world) => world.lease()),
  unsent: fc.constant((world) => world.unsent()),
  postpone: fc.integer({ min: 1, max: 3 }).map((count) => (world) => world.postpone(count)),
}

const common = fc.oneof(
  { weight: 6, arbitrary: steps.ask as never },
  { weight: 6, arbitrary: steps.retry as never },
  { weight: 6, arbitrary: steps.settle as never },
  { weight: 2, arbitrary: steps.withdraw as never },
  { weight: 2, arbitrary: steps.leave as never },
  { weight: 2, arbitrary: steps.fire as never },
  { weight: 1, arbitrary: steps.result as never },
  { weight: 1, arbitrary: steps.unauthorized as never },
  { weight: 1, arbitrary: steps.postpone as never },
  { weight: 1, arbitrary: steps.unsent as never },
  { weight: 4, arbitrary: steps.lease as never },
  { weight: 1, arbitrary: fc.oneof(steps.lost as never, steps.timeout as never, steps.drained as never) },
) as fc.Arbitrary<(world: World) => void>

describe('the exchange under any interleaving (design §5)', () => {
  it('keeps its invariants', () => {
    fc.assert(
      fc.property(fc.array(common, { maxLength: 60 }), fc.nat(3), (run, before) => {
        const world = createWorld()
        world.start()
        for (const step of run.slice(0, before)) step(world)
        world.lease()
        for (const step of run.slice(before)) {
          world.pass(5)
          step(world)
        }
        // Whatever happened, letting time and the upstream go on ends it, and nobody is left waiting.
        for (let i = 0; i < 40; i += 1) {
          for (const name of ['settle', 'hold', 'grace', 'ttl'] as const) world.fire(name)
        }
        world.apply({ on: 'timeout', error: new Error('slow') })
        expect(['ended', 'lost']).toContain(world.state().phase)
        expect([...world.connected]).toEqual([])
        expect([...world.timers]).toEqual([])
      }),
      { numRuns: 3000 },
    )
  })
})

/** Runs events from the start and returns the last state and the effects of the last event. */
function run(...events: Event<Outcome>[]): [State<Outcome>, readonly { do: string }[]] {
  let state = initialState<Outcome>()
  let effects: readonly { do: string }[] = []
  for (const event of events) [state, effects] = transition(state, event, limits)
  return [state, effects]
}

const started: Event<Outcome>[] = [{ on: 'start', leg: 1 }, { on: 'leased' }]
const asked = (id: number, now = 0, patient = false): Event<Outcome> => ({ on: 'question', id, patient, now })
const quiet: Event<Outcome> = { on: 'quiet', quietMs: 15 }
const back = (leg: number, round: number, accepted: number[], digest = 'd'): Event<Outcome> => ({
  on: 'retry',
  leg,
  round,
  digest,
  accepted,
  now: 0,
})
const kinds = (effects: readonly { do: string }[]): string[] => effects.map((each) => each.do)

describe('one exchange', () => {
  it('sends the call once it has a lease and gives its result to its leg', () => {
    const [state, effects] = run(...started, { on: 'result', outcome: { result: 7 } })
    expect(state.phase).toBe('ended')
    expect(effects).toContainEqual({ do: 'reply', legs: [1], outcome: { result: 7 } })
    expect(effects).toContainEqual({ do: 'release', clean: true })
    expect(kinds(effects)).toContain('forget')
  })

  it('settles questions that arrive together in one round, at most four settle times after the first', () => {
    const [, second] = run(...started, asked(1, 0), asked(2, 55))
    expect(second).toContainEqual({ do: 'timer', name: 'settle', ms: 5 })
    const [state, effects] = run(...started, asked(1, 0), asked(2, 55), quiet)
    expect(state.phase).toBe('suspended')
    expect(effects).toContainEqual({
      do: 'ask',
      round: { number: 1, shown: [1, 2], digest: undefined },
      legs: [1],
    })
  })

  it('L-ELI-03: puts the 17th question into the next round', () => {
    const many = Array.from({ length: 17 }, (_, i) => asked(i + 1))
    const [state] = run(...started, ...many)
    expect(state.rounds[0]?.shown).toHaveLength(16)
    const all = Array.from({ length: 16 }, (_, i) => i + 1)
    const [next] = run(...started, ...many, back(2, 1, all), quiet)
    expect(next.rounds[1]?.shown).toEqual([17])
  })

  it('L-ELI-03: refuses the 65th question', () => {
    const events = [...started]
    for (let round = 0; round < 4; round += 1) {
      const ids = Array.from({ length: 16 }, (_, i) => round * 16 + i + 1)
      events.push(...ids.map((id) => asked(id)), back(round + 2, round + 1, ids))
    }
    const [, effects] = run(...events, asked(65))
    expect(effects).toEqual([{ do: 'refuse', id: 65 }])
  })

  it('M-MRTR-13: asks again for what a retry left out, and gives up on it the third time', () => {
    const events = [...started, asked(1), asked(2), asked(3), asked(4), quiet]
    const [second] = run(...events, back(2, 1, [1]), quiet)
    expect(second.rounds[1]?.shown).toEqual([2, 3, 4])
    const [third, effects] = run(...events, back(2, 1, [1]), quiet, back(3, 2, [2]), quiet, back(4, 3, [3]))
    expect(effects).toContainEqual({ do: 'abandon', id: 4 })
    expect(third.pending).toEqual([])
  })

  it('asks the same again when nothing known came', () => {
    const [state, effects] = run(...started, asked(1), quiet, back(2, 1, []))
    expect(state.phase).toBe('suspended')
    expect(effects).toEqual([{ do: 'ask', round: { number: 1, shown: [1], digest: undefined }, legs: [2] }])
  })

  it('joins the same retry and refuses another one', () => {
    const events = [...started, asked(1), quiet, back(2, 1, [1])]
    const [joined] = run(...events, back(3, 1, []))
    expect(joined.legs).toEqual([2, 3])
    const [, effects] = run(...events, back(3, 1, [], 'other'))
    expect(effects).toMatchObject([{ do: 'fail', legs: [3], error: { reason: 'state_rejected' } }])
  })

  it('cancels when the first leg leaves, but lets a retry come back', () => {
    const [, first] = run(...started, { on: 'leave', leg: 1 })
    expect(kinds(first)).toEqual(expect.arrayContaining(['cancel', 'release']))
    expect(first).toContainEqual({ do: 'release', clean: false })
    const events: Event<Outcome>[] = [...started, asked(1), quiet, back(2, 1, [1]), { on: 'leave', leg: 2 }]
    const [detached] = run(...events)
    expect(detached.phase).toBe('detached')
    const [again, effects] = run(...events, back(3, 1, []), { on: 'result', outcome: { result: 1 } })
    expect(again.phase).toBe('ended')
    expect(effects).toContainEqual({ do: 'reply', legs: [3], outcome: { result: 1 } })
  })

  it('M-MRTR-16: ends a long leg with a state alone, and takes the running call up again', () => {
    const events: Event<Outcome>[] = [...started, { on: 'held' }]
    const [state, effects] = run(...events)
    expect(state.phase).toBe('detached')
    expect(effects).toContainEqual({
      do: 'ask',
      round: { number: 1, shown: [], digest: undefined },
      legs: [1],
    })
    const [, ended] = run(...events, { on: 'result', outcome: { result: 1 } }, back(2, 1, []))
    expect(ended).toEqual([{ do: 'reply', legs: [2], outcome: { result: 1 } }])
  })

  it('keeps a result that comes while a person thinks for the retry', () => {
    const events: Event<Outcome>[] = [
      ...started,
      asked(1),
      quiet,
      { on: 'withdrawn', id: 1 },
      { on: 'result', outcome: { result: 1 } },
    ]
    const [held] = run(...events)
    expect(held.phase).toBe('suspended')
    const [state, effects] = run(...events, back(2, 1, []))
    expect(state.phase).toBe('ended')
    expect(effects).toContainEqual({ do: 'reply', legs: [2], outcome: { result: 1 } })
  })

  it('X-ANS-07: answers for nobody and cancels when nobody comes back', () => {
    const [state, effects] = run(...started, asked(1), quiet, { on: 'expired' })
    expect(state.phase).toBe('ended')
    expect(kinds(effects).slice(0, 3)).toEqual(['abandon', 'cancel', 'release'])
  })

  it('tells roots before the call where they were asked before it', () => {
    const events: Event<Outcome>[] = [{ on: 'start', leg: 1 }, asked(1), { on: 'leased' }]
    const [state, effects] = run(...events)
    expect(state.phase).toBe('suspended')
    expect(kinds(effects)).not.toContain('send')
    const [, after] = run(...events, back(2, 1, [1]))
    expect(kinds(after).filter((kind) => kind === 'answer' || kind === 'send')).toEqual(['answer', 'send'])
  })

  it('lets roots that were asked later ride along, alone only when the call is quiet', () => {
    const events = [...started, asked(1, 0, true)]
    const [, early] = run(...events, { on: 'quiet', quietMs: 100 })
    expect(early).toEqual([{ do: 'timer', name: 'settle', ms: 150 }])
    const [late] = run(...events, { on: 'quiet', quietMs: 250 })
    expect(late.phase).toBe('suspended')
    const [, done] = run(...events, { on: 'result', outcome: { result: 1 } })
    expect(done).toContainEqual({ do: 'release', clean: true })
  })

  it('A-05: opens the round again when the upstream refused the answers for lack of authorization', () => {
    const error = new Error('401')
    const events: Event<Outcome>[] = [
      ...started,
      asked(1),
      quiet,
      back(2, 1, [1]),
      { on: 'unauthorized', ids: [1], error },
    ]
    const [state, effects] = run(...events)
    expect(state.phase).toBe('suspended')
    expect(effects).toContainEqual({ do: 'fail', legs: [2], error })
    const [, again] = run(...events, back(3, 1, [1], 'other'))
    expect(again).toContainEqual({ do: 'answer', id: 1 })
  })

  it('X-ERR-02, X-ERR-05: a postponed call holds no lease, and is issued again once all was accepted', () => {
    const events: Event<Outcome>[] = [...started, { on: 'postponed', ids: [1, 2] }]
    const [state, effects] = run(...events)
    expect(state.phase).toBe('suspended')
    expect(kinds(effects).slice(0, 1)).toEqual(['release'])
    const [rest] = run(...events, back(2, 1, [1]))
    expect(rest.rounds.at(-1)?.shown).toEqual([2])
    const [, all] = run(...events, back(2, 1, [1, 2]))
    expect(kinds(all)).toContain('lease')
    expect(kinds(all)).not.toContain('send')
    const [, sent] = run(...events, back(2, 1, [1, 2]), { on: 'leased' })
    expect(kinds(sent)).toContain('send')
  })

  it('L-HTTP-08: a call whose session was dead before it ran is sent again on another', () => {
    const events: Event<Outcome>[] = [...started, { on: 'unsent' }]
    const [state, effects] = run(...events)
    expect(state.legs).toEqual([1])
    expect(kinds(effects)).toEqual(['stop', 'release', 'lease'])
    // A session that wants roots first gets them, as on the first attempt.
    const [asking] = run(...events, asked(9), { on: 'leased' })
    expect(asking.phase).toBe('suspended')
    const [, sent] = run(...events, { on: 'leased' })
    expect(kinds(sent)).toContain('send')
  })

  it('X-ERR-05: an answer that decides the call ends it without the upstream', () => {
    const decided: Event<Outcome> = {
      ...back(2, 1, [1]),
      on: 'retry',
      leg: 2,
      round: 1,
      digest: 'd',
      accepted: [1],
      now: 0,
      decides: { result: 9 },
    }
    const [state, effects] = run(...started, { on: 'postponed', ids: [1] }, decided)
    expect(state.phase).toBe('ended')
    expect(effects).toContainEqual({ do: 'reply', legs: [2], outcome: { result: 9 } })
    expect(kinds(effects)).not.toContain('lease')
  })
})
