import { describe, expect, it } from 'vitest'
import { GatewayError, UpstreamRefusal } from '../../../src/errors.ts'
import { LIMITS, settled, startPool } from './poolHarness.ts'

const overloaded = expect.objectContaining({ reason: 'overloaded' })

describe('which session (design §4.5)', () => {
  it('an idle one of the key, the one whose opening began first', async () => {
    const { ask, openings } = startPool()
    const asked = [ask('a'), ask('a'), ask('a')]
    const fakes = [...openings].reverse().map((opening) => opening.succeed())
    await settled()
    for (const each of asked) each.lease?.release(true)
    for (let round = 0; round < 3; round += 1) {
      const again = ask('a')
      await settled()
      expect(again.lease?.session).toBe(fakes.at(-1)?.session)
      again.lease?.release(true)
    }
    expect(openings).toHaveLength(0)
  })

  it('never one of another key', async () => {
    const { ask, leased, openings } = startPool()
    ;(await leased('a')).lease.release(true)
    const other = ask('b')
    await settled()
    expect(other.lease).toBeUndefined()
    expect(openings).toHaveLength(1)
  })

  it('whoever waits takes what comes first: one given back', async () => {
    const { ask, leased, openings } = startPool()
    const first = await leased('a')
    const second = ask('a')
    expect(openings).toHaveLength(1)
    first.lease.release(true)
    await settled()
    expect(second.lease?.session).toBe(first.session)
    // What was being opened for it grows idle.
    openings[0]?.succeed()
    await settled()
  })

  it('waiters are served in order', async () => {
    const { ask, leased } = startPool({ max: 1 })
    let holder: { lease?: { release(clean: boolean): void } | undefined } = await leased('a')
    const waiting = [ask('a'), ask('a'), ask('a')]
    for (const next of waiting) {
      holder.lease?.release(true)
      await settled()
      expect(waiting.filter((each) => each.lease !== undefined).at(-1)).toBe(next)
      holder = next
    }
  })

  it('at the limit the longest idle session of any key is closed for a new one', async () => {
    const { pool, clock, ask, leased, openings, sessions } = startPool({ max: 2 })
    const a = await leased('a')
    const b = await leased('b')
    b.lease.release(true)
    clock.advance(10)
    a.lease.release(true)
    ask('c')
    expect(sessions.get(b.session)?.closed).toBe(true)
    expect(sessions.get(a.session)?.closed).toBe(false)
    expect(openings).toHaveLength(1)
    expect(pool.counts()).toMatchObject({ idle: 1, opening: 1 })
  })

  it('at the limit, one older waiter of another key is not passed over', async () => {
    const { ask, leased, openings } = startPool({ max: 1 })
    const a = await leased('a')
    const other = ask('b')
    const same = ask('a')
    a.lease.release(true)
    await settled()
    expect([other.lease, same.lease]).toEqual([undefined, undefined])
    openings[0]?.succeed()
    await settled()
    expect(other.lease).toBeDefined()
  })

  it('at most maxOpening at once, over all keys', async () => {
    const { ask, openings } = startPool({ max: 9, maxOpening: 2 })
    for (const key of ['a', 'b', 'c', 'a']) ask(key)
    expect(openings).toHaveLength(2)
    openings[0]?.succeed()
    await settled()
    expect(openings).toHaveLength(2)
  })

  it('shared calls have one session together, which is never leased', async () => {
    const { pool, ask, openings } = startPool()
    const guests = [ask('a', { shares: true }), ask('a', { shares: true })]
    expect(openings).toHaveLength(1)
    openings[0]?.succeed()
    await settled()
    expect(guests[0]?.lease?.session).toBe(guests[1]?.lease?.session)
    expect(guests[0]?.lease?.exclusive).toBe(false)
    for (const each of guests) each.lease?.release(true)
    ask('a')
    expect(openings).toHaveLength(1)
    expect(pool.counts()).toMatchObject({ idle: 1, shared: 0, opening: 1 })
  })
})

describe('no call waits behind a person', () => {
  it('is refused at once when every session waits for one', async () => {
    const { ask, leased } = startPool({ max: 2 })
    for (const key of ['a', 'b']) (await leased(key)).lease.suspended(true)
    const refused = ask('a')
    const shared = ask('c', { shares: true })
    await settled()
    expect(refused.error).toEqual(overloaded)
    expect(shared.error).toEqual(overloaded)
  })

  it('is refused when the last one it waited for begins to wait for a person', async () => {
    const { ask, leased } = startPool({ max: 1 })
    const holder = await leased('a')
    const waiting = ask('a')
    await settled()
    expect(waiting.error).toBeUndefined()
    holder.lease.suspended(true)
    await settled()
    expect(waiting.error).toEqual(overloaded)
  })

  it('waits at most waitMs for a running one', async () => {
    const { clock, ask, leased } = startPool({ max: 1 })
    await leased('a')
    const waiting = ask('a')
    clock.advance(LIMITS.waitMs - 1)
    await settled()
    expect(waiting.error).toBeUndefined()
    clock.advance(1)
    await settled()
    expect(waiting.error).toEqual(overloaded)
  })

  it('but as long as it takes for a session that is being opened for it, and only for it', async () => {
    const { clock, ask, openings } = startPool({ max: 1 })
    const first = ask('a')
    const second = ask('a')
    clock.advance(4 * LIMITS.waitMs)
    await settled()
    expect(second.error).toEqual(overloaded)
    openings[0]?.succeed()
    await settled()
    expect(first.lease).toBeDefined()
  })

  it("the limit of one principal is its own, and not an excuse to close others' sessions", async () => {
    const { ask, leased, openings, sessions } = startPool({ maxPerPrincipal: 1 })
    const other = await leased('o')
    other.lease.release(true)
    ;(await leased('a', { principal: 'p' })).lease.suspended(true)
    const refused = ask('b', { principal: 'p' })
    await settled()
    expect(refused.error).toMatchObject({ reason: 'overloaded', details: { ownLimit: true } })
    expect(openings).toHaveLength(0)
    expect(sessions.get(other.session)?.closed).toBe(false)
  })

  it('counts what is being opened against the limit of a principal', () => {
    const { ask, openings } = startPool({ maxPerPrincipal: 2 })
    for (const key of ['a', 'b', 'c']) ask(key, { principal: 'p' })
    expect(openings).toHaveLength(2)
  })
})

describe('giving back (design §4.4)', () => {
  it('an unclean session is closed and never leased again', async () => {
    const { pool, ask, leased, sessions, openings } = startPool()
    const { lease, session } = await leased('a')
    lease.release(false)
    lease.release(true)
    expect(sessions.get(session)?.closed).toBe(true)
    ask('a')
    expect(openings).toHaveLength(1)
    expect(pool.counts()).toMatchObject({ idle: 0, leased: 0 })
  })

  it('a session that serves once is closed after it, and also if its exchange has left', async () => {
    const { pool, ask, leased, sessions, openings } = startPool()
    const { lease, session } = await leased('a', { once: true })
    lease.release(true)
    expect(sessions.get(session)?.closed).toBe(true)

    const left = ask('a', { once: true })
    left.leave()
    const unused = openings[0]?.succeed()
    await settled()
    expect(unused?.closed).toBe(true)
    expect(pool.counts()).toEqual({ idle: 0, leased: 0, shared: 0, opening: 0, closing: 0 })
  })

  it('every exchange that serves once has its own', async () => {
    const { ask, openings } = startPool()
    const asked = [ask('a', { once: true }), ask('a', { once: true, shares: true }), ask('a', { once: true })]
    expect(openings).toHaveLength(3)
    for (const opening of [...openings]) opening.succeed()
    await settled()
    expect(new Set(asked.map((each) => each.lease?.session)).size).toBe(3)
  })

  it('a lost session is gone; its place is free', async () => {
    const { ask, leased, sessions, openings } = startPool({ max: 1 })
    const { lease, session } = await leased('a')
    const waiting = ask('a')
    sessions.get(session)?.lose(new GatewayError('upstream_closed', 'gone'))
    expect(openings).toHaveLength(1)
    openings[0]?.succeed()
    await settled()
    expect(waiting.lease).toBeDefined()
    lease.release(true)
    expect(waiting.lease?.session).not.toBe(session)
  })

  it('a retired session is closed when its last user is gone, an idle one at once', async () => {
    const { ask, leased, sessions, openings } = startPool()
    const used = await leased('a')
    used.session.retire()
    expect(sessions.get(used.session)?.closed).toBe(false)
    used.lease.release(true)
    expect(sessions.get(used.session)?.closed).toBe(true)

    const idle = await leased('a')
    idle.lease.release(true)
    idle.session.retire()
    expect(sessions.get(idle.session)?.closed).toBe(true)
    ask('a')
    expect(openings).toHaveLength(1)
  })

  it('idle sessions are closed after exactly idleTtlMs', async () => {
    const { clock, leased, sessions } = startPool()
    const early = await leased('a')
    const late = await leased('b')
    early.lease.release(true)
    clock.advance(LIMITS.idleTtlMs - 1)
    late.lease.release(true)
    expect(sessions.get(early.session)?.closed).toBe(false)
    clock.advance(1)
    expect(sessions.get(early.session)?.closed).toBe(true)
    clock.advance(LIMITS.idleTtlMs - 2)
    expect(sessions.get(late.session)?.closed).toBe(false)
    clock.advance(1)
    expect(sessions.get(late.session)?.closed).toBe(true)
    expect(clock.pending()).toBe(0)
  })
})

describe('openings that fail', () => {
  it('one of several is one caller’s, and the rest take what comes', async () => {
    const { ask, openings } = startPool()
    const asked = [ask('a'), ask('a'), ask('a')]
    openings[1]?.fail()
    await settled()
    expect(asked.filter((each) => each.error !== undefined)).toHaveLength(1)
    expect(openings).toHaveLength(2)
    for (const opening of [...openings]) opening.succeed()
    await settled()
    expect(asked.filter((each) => each.lease !== undefined)).toHaveLength(2)
  })

  it('the last one is everybody’s, so that an upstream that is down is tried once', async () => {
    const { ask, openings } = startPool({ maxOpening: 2 })
    const refused = new UpstreamRefusal(401, 'Bearer')
    const asked = Array.from({ length: 5 }, () => ask('a'))
    for (const opening of [...openings]) opening.fail(refused)
    await settled()
    expect(asked.map((each) => each.error)).toEqual(Array.from({ length: 5 }, () => refused))
    expect(openings).toHaveLength(0)
    // And the next one begins anew.
    ask('a')
    expect(openings).toHaveLength(1)
  })

  it('is nobody else’s', async () => {
    const { ask, openings } = startPool()
    const other = ask('b')
    ask('a')
    openings[1]?.fail()
    openings[0]?.succeed()
    await settled()
    expect(other.lease).toBeDefined()
  })
})

describe('sessions.affinity: context (design §4.6)', () => {
  it('opens one session for everything, and calls that cannot be asked pass', async () => {
    const { ask, openings } = startPool({ pinned: true })
    const list = ask('a', { shares: true })
    const first = ask('a')
    const second = ask('a')
    const later = ask('a', { shares: true })
    expect(openings).toHaveLength(1)
    const fake = openings[0]?.succeed()
    await settled()
    for (const each of [list, first, later]) expect(each.lease?.session).toBe(fake?.session)
    expect([first.lease?.exclusive, later.lease?.exclusive]).toEqual([true, false])
    // One interruptible call at a time: it waits for the running one.
    expect([second.lease, second.error]).toEqual([undefined, undefined])
    first.lease?.release(true)
    await settled()
    expect(second.lease?.session).toBe(fake?.session)
  })

  it('refuses a call while one waits for a person, though there is room', async () => {
    const { ask, leased } = startPool({ pinned: true })
    const { lease } = await leased('a')
    lease.suspended(true)
    const refused = ask('a')
    const passes = ask('a', { shares: true })
    await settled()
    expect(refused.error).toMatchObject({ reason: 'overloaded', details: { ownLimit: true } })
    expect(passes.lease).toBeDefined()
  })

  it('an unclean lease lets calls on the same session finish, and nobody new in', async () => {
    const { ask, leased, sessions, openings } = startPool({ pinned: true })
    const { lease, session } = await leased('a')
    const guest = ask('a', { shares: true })
    await settled()
    lease.release(false)
    const next = ask('a', { shares: true })
    await settled()
    expect([sessions.get(session)?.closed, next.lease]).toEqual([false, undefined])
    guest.lease?.release(true)
    expect(sessions.get(session)?.closed).toBe(true)
    openings[0]?.succeed()
    await settled()
    expect(next.lease?.session).not.toBe(session)
  })
})

describe('upstreams of their own kind', () => {
  it('design §4.10: one that keeps no sessions serves everybody by one', async () => {
    const { ask, openings, leased } = startPool()
    const first = ask('a')
    const fake = openings[0]?.succeed(false)
    await settled()
    const second = await leased('a')
    expect([first.lease?.session, second.session]).toEqual([fake?.session, fake?.session])
    first.lease?.release(false)
    expect(fake?.closed).toBe(false)
  })

  it('design §4.8: one that asks everybody has one interruptible exchange at a time', async () => {
    let broadcasting = false
    const { ask, leased, openings } = startPool({}, () => broadcasting)
    const first = await leased('a')
    broadcasting = true
    const second = ask('b')
    const list = ask('b', { shares: true })
    expect(openings).toHaveLength(1)
    openings[0]?.succeed()
    await settled()
    expect([second.lease, list.lease !== undefined]).toEqual([undefined, true])
    first.lease.release(true)
    openings[0]?.succeed()
    await settled()
    expect(second.lease).toBeDefined()
    second.lease?.suspended(true)
    const third = ask('a')
    await settled()
    expect(third.error).toEqual(overloaded)
  })

  it('a listener holds its session but keeps nobody waiting', async () => {
    const { ask, leased } = startPool({ max: 1 })
    const { lease } = await leased('a', { shares: true })
    lease.suspended(true)
    const call = ask('a')
    const list = ask('a', { shares: true })
    await settled()
    expect(call.error).toEqual(overloaded)
    expect(list.lease?.session).toBe(lease.session)
  })
})

describe('closing', () => {
  it('ends what waits, what is used and what is being opened, and leaves nothing', async () => {
    const { pool, clock, ask, leased, openings, sessions } = startPool({ max: 2 })
    await leased('a')
    const opening = ask('b')
    const waiting = ask('c')
    const closing = pool.close()
    await closing
    const fake = openings[0]?.succeed()
    await pool.opened()
    for (const each of [opening, waiting]) expect(each.error).toMatchObject({ reason: 'draining' })
    const late = ask('a')
    await settled()
    expect(late.error).toMatchObject({ reason: 'draining' })
    expect(fake?.closed).toBe(true)
    for (const each of sessions.values()) expect(each.closed).toBe(true)
    expect(pool.counts()).toEqual({ idle: 0, leased: 0, shared: 0, opening: 0, closing: 0 })
    expect(clock.pending()).toBe(0)
  })
})
