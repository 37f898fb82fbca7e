import fc from 'fast-check'
import { expect, it } from 'vitest'
import { GatewayError } from '../../../src/errors.ts'
import type { PoolLimits } from '../../../src/upstream/pool.ts'
import type { Session } from '../../../src/upstream/session.ts'
import { type Asked, type PoolHarness, settled, startPool } from './poolHarness.ts'

const KEYS = ['a', 'b', 'c']

/** One thing that happens; `pick` chooses among those it can happen to. */
type Step =
  | { readonly do: 'ask'; readonly key: number; readonly shares: boolean; readonly once: boolean }
  | { readonly do: 'open' | 'fail'; readonly pick: number }
  | { readonly do: 'release'; readonly pick: number; readonly clean: boolean }
  | { readonly do: 'suspend' | 'resume' | 'lose' | 'retire' | 'leave'; readonly pick: number }
  | { readonly do: 'pass'; readonly ms: number }

const pick = fc.nat(20)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      key: fc.nat(KEYS.length - 1),
      shares: fc.boolean(),
      once: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('open' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('release' as const), pick, clean: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('suspend' as const, 'suspend' as const, 'resume' as const, 'leave' as const),
      pick,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('lose' as const, 'retire' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(6_000) }) },
)

const limits: fc.Arbitrary<Partial<PoolLimits>> = fc.record({
  max: fc.integer({ min: 1, max: 4 }),
  maxPerPrincipal: fc.integer({ min: 1, max: 4 }),
  maxOpening: fc.integer({ min: 1, max: 3 }),
  idleTtlMs: fc.constant(3_000),
  pinned: fc.boolean(),
})

/** What the test knows beside the pool: who asked, who holds what, and what may never be leased again. */
interface Model {
  readonly asked: Asked[]
  readonly held: Set<Asked>
  readonly suspended: Set<Asked>
  readonly spoilt: Set<Session>
  readonly seen: Set<Asked>
}

/** `a` and `b` are one principal's; with pinning, and then only, all calls of a key share one session. */
const principalOf = (key: string): string => (key === 'c' ? 'q' : 'p')

function perform(happening: Step, harness: PoolHarness, model: Model): void {
  const { openings, clock } = harness
  const held = [...model.held]
  const at = <T>(all: readonly T[], index: number): T | undefined => all[index % Math.max(1, all.length)]
  switch (happening.do) {
    case 'ask': {
      const key = KEYS[happening.key] ?? 'a'
      const { shares, once } = happening
      model.asked.push(harness.ask(key, { principal: principalOf(key), shares, once }))
      return
    }
    case 'open':
      at(openings, happening.pick)?.succeed()
      return
    case 'fail':
      at(openings, happening.pick)?.fail()
      return
    case 'release': {
      const holder = at(held, happening.pick)
      if (holder?.lease === undefined) return
      const { session } = holder.lease
      if (!happening.clean && !holder.shares) model.spoilt.add(session)
      model.held.delete(holder)
      model.suspended.delete(holder)
      holder.lease.release(happening.clean)
      return
    }
    case 'suspend':
    case 'resume': {
      const holder = at(
        held.filter((each) => !each.shares),
        happening.pick,
      )
      if (holder === undefined) return
      if (happening.do === 'suspend') model.suspended.add(holder)
      else model.suspended.delete(holder)
      holder.lease?.suspended(happening.do === 'suspend')
      return
    }
    case 'lose':
    case 'retire': {
      const fake = at(
        [...harness.sessions.values()].filter((each) => !each.closed),
        happening.pick,
      )
      if (fake === undefined) return
      model.spoilt.add(fake.session)
      if (happening.do === 'retire') fake.session.retire()
      else fake.lose(new GatewayError('upstream_closed', 'gone'))
      return
    }
    case 'leave':
      at(waiting(model), happening.pick)?.leave()
      return
    case 'pass':
      clock.advance(happening.ms)
      return
    default:
      happening satisfies never
  }
}

const waiting = ({ asked }: Model): Asked[] =>
  asked.filter((each) => each.lease === undefined && each.error === undefined)

/** Takes note of what was granted since the last time, and checks each grant. */
function note(model: Model): void {
  for (const each of model.asked) {
    if (each.lease === undefined || model.seen.has(each)) continue
    model.seen.add(each)
    expect(model.spoilt).not.toContain(each.lease.session)
    // In order: nobody of the same key who asked before, for the same, is still waiting.
    const before = model.asked.slice(0, model.asked.indexOf(each))
    const passed = before.filter(
      (other) =>
        other.key === each.key &&
        other.shares === each.shares &&
        other.once === each.once &&
        other.lease === undefined &&
        other.error === undefined,
    )
    expect(passed).toEqual([])
    model.held.add(each)
  }
}

function check(harness: PoolHarness, model: Model, bounds: PoolLimits): void {
  const { pool, openings, sessions } = harness
  const { idle, leased, shared, opening } = pool.counts()
  const live = [...sessions.values()].filter((each) => !each.closed)
  expect(opening).toBe(openings.length)
  expect(opening).toBeLessThanOrEqual(bounds.maxOpening)
  expect(idle + leased + shared + opening).toBeLessThanOrEqual(bounds.max)
  expect(live.length).toBe(idle + leased + shared)
  for (const principal of ['p', 'q']) {
    const own = [...live, ...openings].filter((each) => each.principal === principal)
    expect(own.length).toBeLessThanOrEqual(bounds.maxPerPrincipal)
  }

  const exclusive = [...model.held].filter((each) => !each.shares).map((each) => each.lease?.session)
  expect(new Set(exclusive).size).toBe(exclusive.length)
  for (const { lease, once } of model.held) {
    const users = [...model.held].filter((each) => each.lease?.session === lease?.session)
    if (once) expect(users).toHaveLength(1)
    if (!bounds.pinned && users.length > 1) expect(users.every((each) => each.shares)).toBe(true)
  }

  // Whoever waits, waits for something that is under way, and not for a person.
  const running = [...model.held].filter((each) => {
    const fake = each.lease && sessions.get(each.lease.session)
    return fake?.closed === false && !model.suspended.has(each)
  })
  if (waiting(model).length > 0) expect(running.length + opening).toBeGreaterThan(0)

  // Nobody waits for a session that is there.
  const busy = new Set([...model.held].map((each) => each.lease?.session))
  const usedTogether = new Set(model.asked.filter((each) => each.shares).map((each) => each.lease?.session))
  for (const each of waiting(model).filter((one) => !one.shares && !one.once)) {
    const free = live.filter((fake) => {
      const last = model.asked.findLast((other) => other.lease?.session === fake.session)
      const mine = last?.key === each.key && !last.once && (bounds.pinned || !usedTogether.has(fake.session))
      return mine && !busy.has(fake.session) && !fake.session.retired()
    })
    expect(free).toEqual([])
  }
}

it('keeps its promises in whatever order things happen', async () => {
  await fc.assert(
    fc.asyncProperty(limits, fc.array(step, { minLength: 5, maxLength: 50 }), async (bounds, steps) => {
      const harness = startPool(bounds)
      const { pool, clock, openings, sessions } = harness
      const model: Model = {
        asked: [],
        held: new Set(),
        suspended: new Set(),
        spoilt: new Set(),
        seen: new Set(),
      }
      const all: PoolLimits = {
        max: 4,
        maxPerPrincipal: 4,
        maxOpening: 4,
        waitMs: 5_000,
        idleTtlMs: 3_000,
        pinned: false,
        ...bounds,
      }
      for (const happening of steps) {
        perform(happening, harness, model)
        await settled()
        note(model)
        check(harness, model, all)
      }

      await pool.close()
      for (const opening of [...openings]) opening.succeed()
      await pool.opened()
      await settled()
      expect(waiting(model)).toEqual([])
      for (const each of sessions.values()) expect(each.closed).toBe(true)
      for (const each of model.held) each.lease?.release(true)
      expect(pool.counts()).toEqual({ idle: 0, leased: 0, shared: 0, opening: 0, closing: 0 })
      expect(clock.pending()).toBe(0)
    }),
    { numRuns: 300 },
  )
})
