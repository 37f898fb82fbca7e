import { describe, expect, it } from 'vitest'
import { eraOf } from '../../../src/mcp/era.ts'
import { meta } from '../../../src/mcp/meta.ts'
import { requestBody, scanned } from './requests.ts'

const plain = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

describe('M-VER-05: the era of a POST', () => {
  it.each([
    ['2026-07-28', 'modern'],
    ['2027-01-01', 'modern'],
    ['2026-07-27', 'legacy'],
    ['2025-11-25', 'legacy'],
    ['v999', 'legacy'],
    ['9', 'legacy'],
    ['', 'legacy'],
    [undefined, 'legacy'],
  ] as const)('without envelope: the version header %s is %s', (version, era) => {
    expect(eraOf(version, scanned(plain).root)).toBe(era)
  })

  it.each([['2025-11-25'], ['v999'], [undefined]])(
    'an envelope is modern whatever the header: %s',
    (version) => {
      expect(eraOf(version, scanned(requestBody('tools/list')).root)).toBe('modern')
    },
  )

  it('an envelope of any version, or a malformed one, is modern', () => {
    for (const version of ['v999', 7, null]) {
      const body = requestBody('initialize', {}, { [meta.protocolVersion]: version })
      expect(eraOf(undefined, scanned(body).root)).toBe('modern')
    }
  })

  it('the reserved key counts however it is escaped, other members of _meta do not', () => {
    const escaped = '{"params":{"_meta":{"io.modelcontextprotocol\\/protocol\\u0056ersion":"2026-07-28"}}}'
    expect(eraOf(undefined, scanned(escaped).root)).toBe('modern')
    const other = { ...plain, params: { _meta: { progressToken: 1, [meta.clientInfo]: {} } } }
    expect(eraOf(undefined, scanned(other).root)).toBe('legacy')
  })

  it('arrays and responses go by the header alone', () => {
    expect(eraOf(undefined, scanned([requestBody('tools/list')]).root)).toBe('legacy')
    expect(eraOf('2026-07-28', scanned('[]').root)).toBe('modern')
  })
})
