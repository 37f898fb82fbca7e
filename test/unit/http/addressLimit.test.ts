import { describe, expect, it } from 'vitest'
import { createAddressLimit } from '../../../src/http/addressLimit.ts'

describe('connections from one address', () => {
  it('beyond the limit are refused, and far beyond it cut; each address counts alone', () => {
    const limit = createAddressLimit({ max: 2, exempt: [] })
    const verdicts = Array.from({ length: 5 }, () => limit.enter('192.0.2.1').verdict)
    expect(verdicts).toEqual(['fits', 'fits', 'refuse', 'refuse', 'cut'])
    expect(limit.enter('192.0.2.2').verdict).toBe('fits')
  })

  it('make room when they end, and nothing is remembered of an address without any', () => {
    const limit = createAddressLimit({ max: 1, exempt: [] })
    const first = limit.enter('192.0.2.1')
    expect(limit.enter('::ffff:192.0.2.1').verdict).toBe('refuse')
    first.leave()
    limit.enter('192.0.2.1').leave()
    limit.enter('2001:db8::1').leave()
    expect(limit.addresses()).toBe(1)
  })

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.1.2.3', '::ffff:10.9.9.9', '2001:db8::9'])(
    '%s is exempt',
    (address) => {
      const limit = createAddressLimit({ max: 1, exempt: ['10.0.0.0/8', '2001:db8::9'] })
      expect([1, 2, 3].map(() => limit.enter(address).verdict)).toEqual(['fits', 'fits', 'fits'])
      expect(limit.addresses()).toBe(0)
    },
  )
})
