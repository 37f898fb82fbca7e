import { describe, expect, it } from 'vitest'
import { mirroredParams } from '../../../src/mcp/mirroredParams.ts'
import { scan } from '../../../src/mcp/scan.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }

/** Header and path of what a schema wants mirrored. */
function mirroredBy(schema: unknown): string[] {
  const text = Buffer.from(typeof schema === 'string' ? schema : JSON.stringify(schema))
  const found = mirroredParams(text, scan(text, true))
  return (found?.params ?? []).map(({ header, path }) => `${header}: ${path.join('/')}`)
}

const withRegion = (more: object): object => ({ type: 'object', properties: { region }, ...more })

describe('mirroredParams', () => {
  it('M-HDR-08: integers, strings and booleans, at any depth of properties', () => {
    const schema = {
      type: 'object',
      properties: {
        region,
        limit: { type: 'integer', 'x-mcp-header': 'Limit' },
        query: { type: 'string' },
        where: {
          type: 'object',
          properties: {
            deep: { type: 'object', properties: { dry: { type: 'boolean', 'x-mcp-header': 'dry' } } },
          },
        },
      },
    }
    expect(mirroredBy(schema)).toEqual([
      'Mcp-Param-Region: region',
      'Mcp-Param-Limit: limit',
      'Mcp-Param-dry: where/deep/dry',
    ])
  })

  it('finds an annotation that is spelled with escapes', () => {
    const spelled = String.raw`{"properties":{"a":{"type":"string","\u0078-mcp-header":"A"}}}`
    expect(mirroredBy(spelled)).toEqual(['Mcp-Param-A: a'])
  })

  it.each([
    ['', ''],
    ['a space', 'My Region'],
    ['a line break', 'Region\r\nX'],
    ['a delimiter', 'Region:'],
    ['no ASCII', 'Région'],
    ['no string', 7],
  ])('M-HDR-08: nothing for a name with %s', (_what, name) => {
    const bad = { type: 'string', 'x-mcp-header': name }
    expect(mirroredBy({ properties: { region, bad } })).toEqual([])
  })

  it.each(['number', 'object', 'array', 'null', undefined, ['string', 'null']])(
    'M-HDR-08: nothing where a property of type %j is annotated',
    (type) => {
      expect(mirroredBy({ properties: { region, bad: { type, 'x-mcp-header': 'Bad' } } })).toEqual([])
    },
  )

  it('M-HDR-08: nothing where two names differ only in case', () => {
    expect(mirroredBy({ properties: { region, b: { type: 'string', 'x-mcp-header': 'REGION' } } })).toEqual(
      [],
    )
  })

  it.each([
    ['the root', { 'x-mcp-header': 'Root' }],
    ['items', { items: region }],
    ['a tuple', { prefixItems: [region] }],
    ['oneOf', { oneOf: [{ properties: { b: region } }] }],
    ['allOf', { allOf: [{ properties: { b: region } }] }],
    ['not', { not: region }],
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    ['then', { then: { properties: { b: region } } }],
    ['additionalProperties', { additionalProperties: region }],
    ['$defs', { $defs: { b: region } }],
    ['patternProperties', { patternProperties: { '^b': region } }],
    ['items of a property', { properties: { list: { type: 'array', items: region } } }],
  ])('M-HDR-08: nothing where %s has an annotation', (_where, more) => {
    expect(mirroredBy(withRegion(more))).toEqual([])
  })

  it('takes no data for an annotation', () => {
    const data = {
      default: { 'x-mcp-header': 'A' },
      enum: [{ 'x-mcp-header': 'B' }],
      const: { 'x-mcp-header': 'C' },
    }
    expect(mirroredBy(withRegion(data))).toEqual(['Mcp-Param-Region: region'])
    const named = { properties: { 'x-mcp-header': { type: 'string' }, region } }
    expect(mirroredBy(named)).toEqual(['Mcp-Param-Region: region'])
  })

  it.each(['https://json-schema.org/draft/2020-12/schema', 'http://json-schema.org/draft-07/schema#'])(
    'M-BASE-21: knows the dialect %s',
    ($schema) => {
      expect(mirroredBy(withRegion({ $schema }))).toEqual(['Mcp-Param-Region: region'])
    },
  )

  it.each(['https://example.com/my-schema', 'http://json-schema.org/draft-99/schema#', 7])(
    'M-BASE-21: mirrors nothing in the dialect %j',
    ($schema) => {
      expect(mirroredBy(withRegion({ $schema }))).toEqual([])
    },
  )

  it('M-BASE-21: follows no reference', () => {
    const schema = withRegion({
      $ref: 'https://example.com/other.json',
      properties: { region, b: { $ref: '#/$defs/b' } },
    })
    expect(mirroredBy(schema)).toEqual(['Mcp-Param-Region: region'])
  })

  it('M-BASE-22: mirrors nothing beyond the depth it looks to', () => {
    const nested = (depth: number): object =>
      depth === 0 ? region : { type: 'object', properties: { a: nested(depth - 1) } }
    expect(mirroredBy(nested(16))).toHaveLength(1)
    expect(mirroredBy(nested(17))).toHaveLength(0)
  })

  it('M-BASE-22: mirrors nothing of a schema with too many parts', () => {
    const many = Object.fromEntries(
      Array.from({ length: 10_001 }, (_, index) => [`p${index}`, { type: 'string' }]),
    )
    expect(mirroredBy({ properties: { region, ...many } })).toEqual([])
    const headers = Object.entries(many).slice(0, 129)
    const annotated = headers.map(([name]) => [name, { type: 'string', 'x-mcp-header': name }])
    expect(mirroredBy({ properties: Object.fromEntries(annotated) })).toEqual([])
  })

  it('takes what is no schema for one that wants nothing', () => {
    for (const schema of ['[]', 'true', 'null', '"x-mcp-header"', '{"properties":[{"x-mcp-header":"A"}]}']) {
      expect(mirroredBy(schema)).toEqual([])
    }
    expect(mirroredBy('{"x-mcp-header":"\\q"}')).toEqual([])
  })
})
