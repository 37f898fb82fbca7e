import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ProtocolError } from '../../../src/errors.ts'
import { mirroredParams } from '../../../src/mcp/mirroredParams.ts'
import { checkParamHeaders, paramHeadersOf } from '../../../src/mcp/paramHeaders.ts'
import { ScanError, scan } from '../../../src/mcp/scan.ts'
import { thrownBy } from './requests.ts'

const schema = Buffer.from(
  JSON.stringify({
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limit: { type: 'integer', 'x-mcp-header': 'Limit' },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      at: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } },
    },
  }),
)
const mirrored = mirroredParams(schema, scan(schema, true))

type Given = Record<string, string>

/** Holds headers, named without the prefix, against the JSON text of arguments. */
function check(args: string | undefined, given: Given = {}): void {
  if (mirrored === undefined) throw new Error('nothing is mirrored')
  const headers = Object.entries(given).map(([name, value]) => [`mcp-param-${name}`, value])
  const text = Buffer.from(`  ${args ?? ''}  `)
  const value = args === undefined ? undefined : scan(text, true)
  checkParamHeaders(mirrored, paramHeadersOf(Object.fromEntries(headers)), text, value)
}

/** `accepted`, or the code and the message. */
function verdict(args: string | undefined, given: Given = {}): string {
  try {
    check(args, given)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    expect([error.code, error.status]).toEqual([-32020, 400])
    return error.message
  }
}

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('paramHeadersOf', () => {
  it('takes these headers and no others', () => {
    const headers = { host: 'x', 'mcp-name': 'tool', 'mcp-param-a': '1', 'mcp-param-__proto__': '2' }
    expect([...paramHeadersOf(headers)]).toEqual([
      ['mcp-param-a', '1'],
      ['mcp-param-__proto__', '2'],
    ])
    expect(paramHeadersOf({ host: 'x' }).size).toBe(0)
  })
})

describe('checkParamHeaders', () => {
  it.each([
    ['{"region":"us-west1"}', { region: 'us-west1' }],
    ['{"region":"Hello, 世界"}', { region: base64('Hello, 世界') }],
    ['{"region":"us-west1"}', { region: base64('us-west1') }],
    ['{"region":" padded "}', { region: base64(' padded ') }],
    ['{"region":""}', { region: '' }],
    ['{"region":"=?base64?x?="}', { region: base64('=?base64?x?=') }],
    ['{"region":"=?base64?SGVsbG8="}', { region: '=?base64?SGVsbG8=' }],
    [String.raw`{"region":"a\u0062c"}`, { region: 'abc' }],
    ['{"dry":true}', { dry: 'true' }],
    ['{"at":{"zone":"b"}}', { zone: 'b' }],
  ])('M-HDR-04, M-HDR-05: %s with %j is accepted', (args, given) => {
    expect(verdict(args, given)).toBe('accepted')
  })

  it.each([
    ['{"region":"us-west1"}', { region: 'us-west2' }],
    ['{"region":"us-west1"}', { region: 'US-WEST1' }],
    ['{"region":"a"}', { region: base64('b') }],
    ['{"region":"Hello"}', { region: '=?BASE64?SGVsbG8=?=' }],
    ['{"dry":true}', { dry: 'false' }],
    ['{"dry":true}', { dry: 'TRUE' }],
    ['{"dry":"true"}', { dry: base64('false') }],
    ['{"at":{"zone":"b"}}', { zone: 'c' }],
    ['{"limit":42}', { limit: 'many' }],
  ])('M-HDR-05: %s with %j is a mismatch', (args, given) => {
    const [name = ''] = Object.keys(given)
    const header = `Mcp-Param-${name.charAt(0).toUpperCase()}${name.slice(1)}`
    expect(verdict(args, given)).toBe(`Header mismatch: ${header} does not match the body`)
  })

  it('M-HDR-05: a value in the body needs its header', () => {
    expect(verdict('{"region":"us-west1"}')).toBe('Header mismatch: Mcp-Param-Region is missing')
    expect(verdict('{"at":{"zone":"b"}}', { region: 'b' })).toBe('Header mismatch: Mcp-Param-Zone is missing')
  })

  it.each(['{}', '{"region":null}', '{"at":{}}', '{"at":"zone"}', '{"at":[{"zone":"b"}]}', '[]', undefined])(
    'M-HDR-05: where the body has no value (%s) no header is expected, and one is ignored',
    (args) => {
      expect(verdict(args)).toBe('accepted')
      expect(verdict(args, { region: 'any', zone: 'any', other: 'any' })).toBe('accepted')
    },
  )

  it.each([
    ['42', '42.0'],
    ['42.0', '42'],
    ['4.2e1', '42'],
    ['-7', '-7'],
    ['0', '-0'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', undefined],
    ['-9007199254740993', 'any'],
    ['1e999', undefined],
    ['{}', undefined],
    ['["a"]', undefined],
  ])('M-HDR-06: the integer %s goes with the header %s', (number, limit) => {
    expect(verdict(`{"limit":${number}}`, limit === undefined ? {} : { limit })).toBe('accepted')
  })

  it.each([
    ['42', '43'],
    ['42', '0x2a'],
    ['42', ' 42'],
    ['9007199254740991', '9007199254740992'],
  ])('M-HDR-06: the integer %s does not go with the header %s', (number, limit) => {
    expect(verdict(`{"limit":${number}}`, { limit })).toContain('does not match')
  })

  it.each([
    ['=?base64?SGVsbG8?=', 'is not valid base64'],
    ['=?base64?SGVs!!!bG8=?=', 'is not valid base64'],
    ['=?base64?/w==?=', 'is not valid UTF-8'],
    ['Hell\u00f6', 'has characters that must be encoded'],
    ['a\u0000', 'has characters that must be encoded'],
  ])('M-HDR-07: the header %j %s', (region, message) => {
    expect(verdict('{"region":"Hello"}', { region })).toBe(`Header mismatch: Mcp-Param-Region ${message}`)
  })

  it('M-HDR-07: invalid characters are refused where there is no value to compare, too', () => {
    expect(verdict('{}', { region: '\u00e9' })).toContain('has characters that must be encoded')
  })

  it('refuses a mirrored parameter that occurs twice, on the whole way to it', () => {
    for (const args of [
      '{"region":"a","region":"b"}',
      '{"at":{"zone":"a"},"at":{}}',
      '{"at":{"zone":"a","zone":"b"}}',
    ]) {
      const thrown = thrownBy(() => check(args, { region: 'a', zone: 'a' }))
      expect(thrown instanceof ScanError && thrown.reason).toBe('duplicate')
    }
  })

  it('M-TOOL-07: tells no value', () => {
    expect(verdict('{"region":"secret"}', { region: 'other' })).not.toMatch(/secret|other/)
  })

  it('accepts exactly the value that was encoded', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string(),
      fc.constantFrom(' a', '=?base64?', 'ä'),
    )
    fc.assert(
      fc.property(value, value, (sent, claimed) => {
        const args = JSON.stringify({ region: sent })
        expect(verdict(args, { region: base64(claimed) }) === 'accepted').toBe(sent === claimed)
        expect(verdict(args, { region: base64(sent) })).toBe('accepted')
      }),
      { numRuns: 200 },
    )
  })
})
