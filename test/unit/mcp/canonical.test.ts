import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalDigest } from '../../../src/mcp/canonical.ts'
import { canonicalNumber } from '../../../src/mcp/decimal.ts'
import { at, type Shape, scan } from '../../../src/mcp/scan.ts'

function digest(json: string, omit?: readonly string[]): string {
  const text = Buffer.from(json)
  return canonicalDigest(text, scan(text, true), omit).toString('hex')
}

describe('M-MRTR-08: what means the same has the same digest', () => {
  test.each([
    ['{"a":1,"b":[2,{"c":null,"d":true}]}', ' { "b" : [ 2.0,\n{"d":true,"c":null}] ,"\\u0061":10e-1}'],
    ['"é😀/"', '"\\u00e9\\ud83d\\uDE00\\/"'],
    ['"\\ud800"', '"\\uD800"'],
    ['[1,10,0.5,-2]', '[1.0,1E+1,5e-1,-0.2e1]'],
    ['[0,0,0,0]', '[-0,0.00,0e5,-0.0E-99999999999999999999]'],
    ['1e400', '0.1e401'],
    ['1e100000000000000000000', '10e99999999999999999999'],
    ['{"":1,"\\u0000":2}', '{"\\u0000":2,"":1}'],
    ['{}', ' {\n} '],
  ])('%s and %s', (left, right) => {
    expect(digest(left)).toBe(digest(right))
  })

  test.each([
    ['9007199254740993', '9007199254740992'],
    ['1e400', '1e401'],
    ['1e-400', '0'],
    ['1', '-1'],
    ['1', '"1"'],
    ['null', '"n"'],
    ['[]', '{}'],
    ['[1,2]', '[2,1]'],
    ['[1,2]', '[12]'],
    ['[[1],2]', '[[1,2]]'],
    ['["a","b"]', '["ab"]'],
    ['["a"]', '["s1:a"]'],
    ['{"a":"b"}', '["a","b"]'],
    ['{"a":1}', '{"A":1}'],
    ['"\\ud800"', '"\\ud801"'],
    ['"\\ud800"', '"\ufffd"'],
    ['"é"', '"e\u0301"'],
    ['"\\ud800\\ud800"', '"\\u00d8\\u0000"'],
    ['"\\ud83d\\u0080"', '"=\\u0600\\u0000"'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"x":{"_meta":1}}', '{"x":{}}'],
  ])('%s and %s differ', (left, right) => {
    expect(digest(left, ['_meta'])).not.toBe(digest(right, ['_meta']))
  })

  test('without the members left out, at the top only', () => {
    const omit = ['_meta', 'inputResponses', 'requestState']
    const first = '{"name":"t","_meta":{"a":1},"arguments":{"_meta":1}}'
    const retry =
      '{"requestState":"s","arguments":{"_meta":1},"inputResponses":{},"name":"t","\\u005fmeta":{"a":2}}'
    expect(digest(first, omit)).toBe(digest(retry, omit))
    expect(digest(first, omit)).toBe(digest('{"name":"t","arguments":{"_meta":1}}'))
    expect(digest(first, omit)).not.toBe(digest('{"name":"t","arguments":{}}', omit))
  })

  test('of a value inside a text', () => {
    const shape: Shape = { params: true }
    const text = Buffer.from('{"id":1,"params": {"b":1,"a":2} ,"x":0}')
    const value = at(scan(text, shape), 'params')
    expect(canonicalDigest(text, value).toString('hex')).toBe(digest('{"a":2,"b":1}'))
    expect(canonicalDigest(Buffer.from(' 1')).toString('hex')).toBe(digest('1'))
    expect(canonicalDigest(text, value).length).toBe(32)
  })
})

describe('numbers', () => {
  test.each([
    ['-120.0500e+3', '-12005e1'],
    ['1e999999999999999', '1e999999999999999'],
    ['100e999999999999999', '1e1000000000000001'],
    ['100e9999999999999999999', '1e10000000000000000001'],
    ['1e-1000000000000000000', '1e-1000000000000000000'],
    ['100e-1000000000000000000', '1e-999999999999999998'],
    ['0.001e1000000000000000000', '1e999999999999999997'],
    ['0.001e1000000000000000', '1e999999999999997'],
    ['1e00000000000000000000000000012', '1e12'],
    ['1e-00000000000000000000000000000', '1e0'],
  ])('%s is %s', (written, canonical) => {
    expect(canonicalNumber(written)).toBe(canonical)
  })

  test('any spelling of a value, and against exact arithmetic', () => {
    const power = fc.oneof(fc.bigInt(-40n, 40n), fc.bigInt(-(10n ** 40n), 10n ** 40n))
    const integer = fc.bigInt(-(10n ** 30n), 10n ** 30n).filter((n) => n !== 0n)
    const check = fc.property(integer, power, fc.nat(40), fc.nat(20), (n, power, point, zeros) => {
      const sign = n < 0n ? '-' : ''
      const digits = `${n < 0n ? -n : n}`.padStart(point + 1, '0')
      const whole = digits.slice(0, digits.length - point)
      const fraction = digits.slice(digits.length - point) + '0'.repeat(zeros)
      const written = `${sign}${whole}${fraction && '.'}${fraction}e${power + BigInt(point)}`
      const significant = digits.replace(/^0+/, '').replace(/0+$/, '')
      const trailing = digits.length - digits.replace(/0+$/, '').length
      expect(canonicalNumber(written)).toBe(`${sign}${significant}e${power + BigInt(trailing)}`)
    })
    fc.assert(check, { numRuns: 1000 })
  })

  test('a million digits anywhere', () => {
    const many = '9'.repeat(1_000_000)
    expect(canonicalNumber(`${many}e-${many}`)).toBe(`${many}e-${many}`)
    expect(canonicalNumber(`10e${many}`)).toBe(`1e1${'0'.repeat(1_000_000)}`)
    expect(canonicalNumber(`0.${'0'.repeat(1_000_000)}1`)).toBe('1e-1000001')
  })
})

describe('properties', () => {
  type Tree = { tree: string | boolean | null | bigint | Tree[] | [string, Tree][] }
  const unit = fc.oneof(
    fc.constantFrom('a', 'b', 'é', '\ud800', '\udc00', '"', '\\', '\n'),
    fc.string({ maxLength: 1 }),
  )
  const string = fc.array(unit, { maxLength: 4 }).map((units) => units.join(''))
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc
      .oneof(
        { maxDepth: 4 },
        string,
        fc.bigInt(-99n, 99n),
        fc.constantFrom(2n ** 53n, 2n ** 53n + 1n, true, false, null),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.uniqueArray(fc.tuple(string, tie('tree')), { maxLength: 3, selector: ([name]) => name }),
      )
      .map((tree) => ({ tree })),
  }))

  const MUST_ESCAPE = /["\\\p{Cc}\ud800-\udfff]/u
  const isObject = (list: Tree[] | [string, Tree][]): list is [string, Tree][] => Array.isArray(list[0])

  /** Writes a tree, its freedoms decided by `choose`. */
  function write({ tree }: Tree, choose: () => boolean): string {
    const space = choose() ? '\n ' : ''
    if (typeof tree === 'string') {
      const units = tree.split('').map((unit) => {
        const escaped = choose() || MUST_ESCAPE.test(unit)
        return escaped ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : unit
      })
      return `"${units.join('')}"${space}`
    }
    if (typeof tree === 'bigint') {
      if (choose()) return `${tree}${space}`
      return tree === 0n ? '-0.0e7' : `${tree}0.00e${choose() ? '-' : '-0'}1`
    }
    if (tree === null || typeof tree === 'boolean') return `${tree}${space}`
    if (isObject(tree)) {
      const members = tree.map(([name, value]) => {
        return `${space}${write({ tree: name }, choose)}${space}:${write(value, choose)}`
      })
      return `{${choose() ? members.reverse() : members}}`
    }
    return `[${space}${tree.map((item) => write(item, choose))}]`
  }

  /** A plain form to tell whether two trees are the same. */
  function key({ tree }: Tree): string {
    if (tree === null || typeof tree !== 'object') return `${typeof tree} ${JSON.stringify(tree, bigintText)}`
    if (isObject(tree)) return `{${tree.map(([name, value]) => JSON.stringify([name, key(value)])).sort()}}`
    return JSON.stringify(tree.map(key))
  }
  const bigintText = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)

  test('equal digests mean equal values, however they are written', () => {
    const choices = fc.infiniteStream(fc.boolean())
    const check = fc.property(tree, tree, choices, choices, (left, right, first, second) => {
      const by = (stream: Iterator<boolean>) => () => stream.next().value === true
      const one = digest(write(left, by(first)))
      expect(digest(write(left, by(second)))).toBe(one)
      expect(digest(write(right, by(second))) === one).toBe(key(left) === key(right))
    })
    fc.assert(check, { numRuns: 1000 })
  })
})
