import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../src/errors.ts'
import { createIdentify } from '../../../src/token/identity.ts'
import { createKeyring } from '../../../src/token/keyring.ts'
import { createRequestStates, type Expected, type RequestState } from '../../../src/token/requestState.ts'
import { createSeal } from '../../../src/token/seal.ts'

const START = 1_800_000_000_000
const keyring = createKeyring({ keys: ['11'.repeat(32)], keysFile: null })
const identify = createIdentify({ keyring, from: 'authorization', forwardHeaders: ['authorization'] })
const caller = identify({ authorization: 'Bearer one' })

let wall = START
const clock = { now: () => 0, wall: () => wall, after: () => () => undefined, pending: () => 0 }
const states = createRequestStates({ keyring, clock })

const state: RequestState = {
  exchange: 'exchange-1',
  round: 2,
  owner: 'boot-1',
  route: '/mcp',
  revision: '2026-07-28',
  method: 'tools/call',
  digest: Buffer.alloc(32, 5),
  deadline: START + 1000,
}
const expected: Expected = {
  route: '/mcp',
  caller,
  method: 'tools/call',
  digest: () => Buffer.alloc(32, 5),
}

/** Seals at the start, opens at `at`. */
function verdict(change: Partial<Expected> = {}, text?: string, at = START): GatewayError | RequestState {
  wall = START
  const sealed = text ?? states.seal(state, caller)
  wall = at
  try {
    return states.open(sealed, { ...expected, ...change })
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

function innerOf(...of: Parameters<typeof verdict>): string | undefined {
  const result = verdict(...of)
  return result instanceof GatewayError ? result.details.inner : 'opened'
}

it('M-MRTR-08: opens to what was sealed, whoever owns it', () => {
  expect(verdict()).toEqual(state)
})

it('is opened by another process with the same key', () => {
  const ring = createKeyring({ keys: ['22'.repeat(32), '11'.repeat(32)], keysFile: null })
  const there = createIdentify({ keyring: ring, from: 'authorization', forwardHeaders: [] })
  const elsewhere = createRequestStates({ keyring: ring, clock })
  wall = START
  const opened = elsewhere.open(states.seal(state, caller), {
    ...expected,
    caller: there({ authorization: 'Bearer one' }),
  })
  expect(opened).toEqual(state)
})

describe('M-MRTR-08: bound to caller, request and time', () => {
  it.each<[string, Partial<Expected>]>([
    ['route', { route: '/mcp/' }],
    ['principal_changed', { caller: identify({ authorization: 'Bearer two' }) }],
    ['principal_changed', { caller: identify({}) }],
    ['method', { method: 'prompts/get' }],
    ['digest', { digest: () => Buffer.alloc(32, 6) }],
    ['digest', { digest: () => Buffer.alloc(31, 5) }],
  ])('is refused for another %s', (reason, change) => expect(innerOf(change)).toBe(reason))

  it('is refused once its deadline is past', () => {
    expect(innerOf({}, undefined, START + 1000)).toBe('opened')
    expect(innerOf({}, undefined, START + 1001)).toBe('expired')
  })

  it('is refused when it was issued more than a minute from now', () => {
    expect(innerOf({}, undefined, START - 60_000)).toBe('opened')
    expect(innerOf({}, undefined, START - 60_001)).toBe('future')
  })

  it('judges in the order of the design, and computes no digest before it must', () => {
    const wrong = {
      route: '/other',
      caller: identify({}),
      method: 'prompts/get',
      digest: () => {
        throw new Error('asked for the digest too early')
      },
    }
    expect(innerOf(wrong, undefined, START + 2000)).toBe('expired')
    expect(innerOf(wrong)).toBe('route')
    expect(innerOf({ ...wrong, route: '/mcp' })).toBe('principal_changed')
    expect(innerOf({ ...wrong, route: '/mcp', caller })).toBe('method')
  })
})

describe('M-MRTR-07: hostile until opened', () => {
  it('refuses every change, as suffix, prefix or in the middle', () => {
    wall = START
    const text = states.seal(state, caller)
    const edit = fc.record({ at: fc.nat(text.length), take: fc.nat(2), put: fc.string({ maxLength: 2 }) })
    fc.assert(
      fc.property(edit, ({ at, take, put }) => {
        const changed = text.slice(0, at) + put + text.slice(at + take)
        fc.pre(changed !== text)
        expect(innerOf({}, changed)).not.toBe('opened')
      }),
      { numRuns: 500 },
    )
  })

  it('refuses whatever else is sealed with the same keys', () => {
    const other = createSeal(keyring, 'another purpose')
    expect(
      innerOf(
        {},
        other.seal(() => Buffer.from('[]')),
      ),
    ).toBe('seal')
  })

  it.each(['', 'no JSON', '{}', '[]', '["exchange-1",0]', 'null'])('refuses the shape %j', (plain) => {
    const box = createSeal(keyring, 'request state')
    expect(
      innerOf(
        {},
        box.seal(() => Buffer.from(plain)),
      ),
    ).toBe('shape')
  })

  it('says the same to the client whatever the reason', () => {
    const outward = [
      verdict({ method: 'x' }),
      verdict({}, ''),
      verdict({}, 'mp1.AAAAAAAA.AAAA'),
      verdict({}, 'a'.repeat(70_000)),
      verdict({}, undefined, START + 5000),
      verdict({ caller: identify({}) }),
    ].map((each) => (each instanceof GatewayError ? [each.reason, each.message, each.details.data] : []))
    expect(new Set(outward.map((each) => JSON.stringify(each))).size).toBe(1)
    expect(outward[0]?.[0]).toBe('state_rejected')
  })
})

it('shows nothing of what it says', () => {
  wall = START
  const text = states.seal(state, caller)
  const bytes = Buffer.from(text.split('.')[2] ?? '', 'base64url').toString('latin1')
  for (const word of ['exchange-1', 'boot-1', 'tools/call', '/mcp']) expect(bytes + text).not.toContain(word)
})
