import { describe, expect, it } from 'vitest'
import { createIdentify, type IdentifyOptions } from '../../../src/token/identity.ts'
import { createKeyring } from '../../../src/token/keyring.ts'

const keyring = createKeyring({ keys: ['11'.repeat(32), '22'.repeat(32)], keysFile: null })

function identifyBy(options: Partial<IdentifyOptions> = {}) {
  return createIdentify({ keyring, from: 'authorization', forwardHeaders: ['authorization'], ...options })
}

describe('M-CACHE-06: callers are told apart by their credential', () => {
  it('is one caller for one token, another for another', () => {
    const identify = identifyBy()
    const one = identify({ authorization: 'Bearer one' })
    const again = identify({ authorization: 'Bearer one' })
    const two = identify({ authorization: 'Bearer two' })
    expect([again.principal, again.context]).toEqual([one.principal, one.context])
    expect(two.principal).not.toBe(one.principal)
    expect(two.context).not.toBe(one.context)
  })

  it('takes the exact value: another spelling is another caller', () => {
    const identify = identifyBy()
    const values = ['Bearer one', 'bearer one', 'Bearer  one', 'Bearer one ', '']
    expect(new Set(values.map((authorization) => identify({ authorization }).principal)).size).toBe(
      values.length,
    )
  })

  it('has one principal for all without credentials', () => {
    const identify = identifyBy({ forwardHeaders: ['authorization', 'x-tenant'] })
    const nobody = identify({})
    const tenant = identify({ 'x-tenant': 'a' })
    expect([nobody.anonymous, tenant.anonymous, identify({ authorization: 'x' }).anonymous]).toEqual([
      true,
      false,
      false,
    ])
    expect(tenant.principal).toBe(nobody.principal)
    expect(tenant.context).not.toBe(nobody.context)
  })

  it('no two sets of headers make one context', () => {
    const identify = identifyBy({ forwardHeaders: ['x-a', 'x-b'] })
    const sets = [
      {},
      { 'x-a': '' },
      { 'x-b': '' },
      { 'x-a': 'b' },
      { 'x-b': 'b' },
      { 'x-a': '","x-b","' },
      { 'x-a': 'x', 'x-b': 'y' },
    ]
    expect(new Set(sets.map((each) => identify(each).context)).size).toBe(sets.length)
  })

  it('with none, is one principal but a context for each credential that goes upstream', () => {
    const identify = identifyBy({ from: 'none' })
    const one = identify({ authorization: 'Bearer one' })
    const two = identify({ authorization: 'Bearer two' })
    expect(one.principal).toBe(two.principal)
    expect(one.principalFor(keyring.current())).toEqual(two.principalFor(keyring.current()))
    expect(one.context).not.toBe(two.context)
  })
})

describe('digests', () => {
  it('A-09: hold nothing of the credential, and are of this process alone', () => {
    const token = 'Bearer S3CRET'
    const caller = identifyBy()({ authorization: token })
    const elsewhere = identifyBy()({ authorization: token })
    expect(`${caller.principal}${caller.context}`).not.toContain('S3CRET')
    expect(elsewhere.principal).not.toBe(caller.principal)
    expect(elsewhere.context).not.toBe(caller.context)
  })

  it('M-ELI-03: under a ring key are the same in every process, and differ by key', () => {
    const [first, second] = ['11', '22'].map((each) =>
      createKeyring({ keys: [each.repeat(32)], keysFile: null }).current(),
    )
    const here = identifyBy()({ authorization: 'Bearer one' })
    const there = identifyBy()({ authorization: 'Bearer one' })
    expect(here.principalFor(first ?? '')).toEqual(there.principalFor(first ?? ''))
    expect(here.principalFor(first ?? '')).not.toEqual(here.principalFor(second ?? ''))
    expect(here.principalFor(first ?? '')).toHaveLength(32)
  })
})

describe('what goes upstream', () => {
  it('is what the options list and the request has, in lower case', () => {
    const identify = identifyBy({
      forwardHeaders: ['Authorization', 'X-Tenant', 'authorization', 'x-absent'],
    })
    const { credentials } = identify({ authorization: 'Bearer one', 'x-tenant': 'a', cookie: 'b' })
    expect(credentials).toEqual({ authorization: 'Bearer one', 'x-tenant': 'a' })
  })

  it('A-03: is nothing where nothing is listed', () => {
    const identify = identifyBy({ forwardHeaders: [] })
    const caller = identify({ authorization: 'Bearer one' })
    expect(caller.credentials).toEqual({})
    expect(caller.context).not.toBe(identify({ authorization: 'Bearer two' }).context)
  })

  it('is never what belongs to the connection, the message or MCP', () => {
    const owned = [
      'Host',
      'connection',
      'te',
      'content-length',
      'Content-Type',
      'mcp-session-id',
      'Mcp-Name',
      'upgrade',
    ]
    const headers = Object.fromEntries(owned.map((name) => [name.toLowerCase(), 'x']))
    const caller = identifyBy({ forwardHeaders: owned })(headers)
    expect(caller.credentials).toEqual({})
    expect(caller.anonymous).toBe(true)
  })
})
