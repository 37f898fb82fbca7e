import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  at,
  each,
  oneOrEach,
  parsed,
  type ScanError,
  type ScanOptions,
  type Shape,
  scan,
  stringOf,
  textOf,
} from '../../../src/mcp/scan.ts'

const request: Shape = {
  id: true,
  method: true,
  params: { name: true, _meta: { progressToken: true, 'io.modelcontextprotocol/protocolVersion': true } },
}

function bytes(text: string): Buffer {
  return Buffer.from(text)
}

function fault(text: string | Buffer, shape: Shape = request, options: ScanOptions = {}): ScanError {
  try {
    scan(typeof text === 'string' ? bytes(text) : text, shape, options)
  } catch (error) {
    return error as ScanError
  }
  throw new Error('the text was accepted')
}

function refused(text: string | Buffer, shape?: Shape, options?: ScanOptions): object {
  const { name, reason, path, offset } = fault(text, shape, options)
  return { name, reason, path, offset }
}

describe('what a scan notes', () => {
  const text = bytes(
    ' {"jsonrpc":"2.0", "id" : 9007199254740993 ,"params":{"_meta":{"a":[{}],"progressToken":"t"}}}\n',
  )
  const root = scan(text, request)

  test('members by name, with index, extent and value', () => {
    expect(root).toMatchObject({ kind: 'object', start: 1, end: text.length - 1, count: 3 })
    expect([...(root.members?.keys() ?? [])]).toEqual(['id', 'params'])
    const id = root.members?.get('id')
    expect(id).toMatchObject({ index: 1, value: { kind: 'number' } })
    expect(text.toString('utf8', id?.from, id?.to)).toBe(' "id" : 9007199254740993 ')
  })

  test('M-BASE-02: an id keeps the bytes it was written in', () => {
    const id = at(root, 'id')
    expect(id && textOf(text, id).toString()).toBe('9007199254740993')
  })

  test('nested members, and nothing where there is nothing', () => {
    const token = at(root, 'params', '_meta', 'progressToken')
    expect(stringOf(text, token)).toBe('t')
    expect(at(root, 'params', 'name')).toBeUndefined()
    expect(at(root, 'id', 'name')).toBeUndefined()
    expect(at(undefined, 'id')).toBeUndefined()
    expect(stringOf(text, at(root, 'id'))).toBeUndefined()
  })

  test('kinds, also of values that are not of the kind of their shape', () => {
    const kinds = ['{}', '[]', '"x"', '-1.5e3', 'true', 'false', 'null'].map((params) => {
      const value = at(scan(bytes(`{"params":${params}}`), request), 'params')
      return [value?.kind, value?.members?.size]
    })
    expect(kinds).toEqual([
      ['object', 0],
      ['array', undefined],
      ['string', undefined],
      ['number', undefined],
      ['boolean', undefined],
      ['boolean', undefined],
      ['null', undefined],
    ])
  })

  test('items of arrays', () => {
    const batch = bytes('[ {"id":1}, 2 ,{"id":"b"} ]')
    const { items } = scan(batch, each({ id: true }))
    expect(items?.map((item) => textOf(batch, item).toString())).toEqual(['{"id":1}', '2', '{"id":"b"}'])
    expect(items?.map((item) => stringOf(batch, at(item, 'id')))).toEqual([undefined, undefined, 'b'])
    expect(scan(bytes('[]'), each(true)).items).toEqual([])
    expect(scan(bytes('{"id":1}'), each({ id: true })).members).toBeUndefined()
  })

  test('L-BASE-02: one message or an array of them', () => {
    const shape = oneOrEach({ id: true })
    expect(at(scan(bytes('{"id":1}'), shape), 'id')?.start).toBe(6)
    expect(at(scan(bytes('[{"id":1}]'), shape).items?.[0], 'id')?.start).toBe(7)
  })

  test('a name is the same however it is written', () => {
    const escaped = bytes('{"\\u006eame":1,"\\u005f\\u005Fproto__":2,"\\ud83d\\ude00":3,"é":4}')
    const shape: Shape = JSON.parse('{"name":true,"__proto__":true,"😀":true,"é":true}')
    const root = scan(escaped, shape)
    expect([...(root.members ?? [])].map(([name, { value }]) => [name, parsed(escaped, value)])).toEqual([
      ['name', 1],
      ['__proto__', 2],
      ['😀', 3],
      ['é', 4],
    ])
  })

  test('lone surrogates are legal in names and strings, and distinct', () => {
    const text = bytes('{"\\ud800":1,"\\ud801":2,"id":"\\udc00"}')
    const root = scan(text, request, { strict: true, foldCase: true })
    expect(root.count).toBe(3)
    expect(stringOf(text, at(root, 'id'))).toBe('\udc00')
  })

  test('strings are decoded', () => {
    const text = bytes('{"id":"aé\\n\\u00e9\\"\\\\"}')
    expect(stringOf(text, at(scan(text, request), 'id'))).toBe('aé\né"\\')
  })

  test('long strings, with quotes behind odd and even backslashes', () => {
    for (const tail of ['', '\\\\', '\\"', '\\\\\\"', '\\\\\\\\'])
      for (const pad of [...Array(110).keys(), 500]) {
        const text = bytes(`{"x":"${'a'.repeat(pad)}${tail}${'b'.repeat(60)}${tail}","id":1}`)
        for (const strict of [false, true]) {
          expect(at(scan(text, request, { strict }), 'id')?.start).toBe(text.length - 2)
        }
      }
  })

  test('10 MiB in one string', () => {
    const text = bytes(`{"x":"${'A'.repeat(10 * 1024 * 1024)}","id":1}`)
    expect(at(scan(text, request, { strict: true }), 'id')?.start).toBe(text.length - 2)
  })
})

describe('what a scan refuses', () => {
  test.each([
    ['{"id":1,"id":2}', 'id', 8],
    ['{"id":1,"i\\u0064":2}', 'id', 8],
    ['{"x":1,"y":2,"\\u0078":3}', 'x', 13],
    ['{"params":{"_meta":{"k":1,"k":2}}}', 'params._meta.k', 26],
    ['{"é":1,"\\u00e9":2}', '"é"', 8],
    ['{"__proto__":1,"__proto__":2}', '__proto__', 15],
    ['{"":1,"":2}', '""', 6],
  ])('a name that occurs twice: %s', (text, path, offset) => {
    expect(refused(text)).toEqual({ name: 'ScanError', reason: 'duplicate', path, offset })
  })

  test('a name that occurs twice among many', () => {
    const names = Array.from({ length: 100 }, (_, i) => `"n${i}":0`)
    expect(scan(bytes(`{${names}}`), request).count).toBe(100)
    for (const twin of [3, 15, 16, 17, 99]) {
      expect(refused(`{${names},"n${twin}":0}`)).toMatchObject({ reason: 'duplicate', path: `n${twin}` })
      expect(refused(`{${names},"\\u006e${twin}":0}`)).toMatchObject({ reason: 'duplicate' })
    }
  })

  test('but not in objects that nobody reads', () => {
    expect(scan(bytes('{"x":{"a":1,"a":2},"id":{"b":1,"b":2}}'), request).count).toBe(2)
  })

  test.each([
    ['{"Id":1}', 'Id'],
    ['{"params":{"NAME":1,"name":2}}', 'params.NAME'],
    ['{"params":{"_META":{}}}', 'params._META'],
    ['{"metho\\u0044":1}', undefined],
    ['{"param\u017f":1}', undefined],
    ['{"params":{"_meta":{"progressTo\u212aen":1}}}', undefined],
    ['{"\u0130d":1}', undefined],
    ['{"\u0131d":1}', undefined],
  ])('names that differ only in case, if asked to: %s', (text, path) => {
    expect(scan(bytes(text), request).kind).toBe('object')
    const error = fault(text, request, { foldCase: true })
    expect(error.reason).toBe('case')
    if (path !== undefined) expect(error.path).toBe(path)
  })

  test('case folding takes letters only for letters', () => {
    const text = bytes('{"i\u0024":1,"params":{"\x7fmeta":1,"@name":2,"nam%":3}}')
    expect(scan(text, request, { foldCase: true }).count).toBe(2)
    expect(scan(bytes('{"a`b":1,"{x":2}'), { 'a@b': true, '[x': true }, { foldCase: true }).count).toBe(2)
  })

  test('an owned name that is not ASCII has twins that are', () => {
    const shape: Shape = { straße: true }
    expect(fault('{"STRASSE":1}', shape, { foldCase: true }).reason).toBe('case')
  })

  test('more than 64 levels, wherever they are', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    const meta = (inner: string) => `{"params":{"_meta":{"x":${inner}}}}`
    expect(scan(bytes(nested(64)), true).kind).toBe('array')
    expect(refused(nested(65), true)).toMatchObject({ reason: 'depth', path: '', offset: 64 })
    expect(scan(bytes(meta(nested(61))), request).count).toBe(1)
    expect(refused(meta(nested(62)))).toMatchObject({ reason: 'depth', path: 'params._meta.x' })
    expect(refused('{"a":{"id":[]}}', { a: { id: each(true) } }, { maxDepth: 2 })).toMatchObject({
      reason: 'depth',
    })
    expect(refused('[[[]]]', each(each(each(true))), { maxDepth: 2 })).toMatchObject({ reason: 'depth' })
    expect(refused('{"a":{}}', { a: { b: true } }, { maxDepth: 1 })).toMatchObject({
      reason: 'depth',
      path: 'a',
    })
    expect(refused('['.repeat(1_000_000), true)).toMatchObject({ reason: 'depth' })
  })

  test('M-BASE-01: invalid UTF-8, if strict', () => {
    const text = Buffer.from('{"id":"é\ufffd\xff"}', 'latin1')
    expect(scan(text, request).count).toBe(1)
    expect(refused(text, request, { strict: true })).toMatchObject({ reason: 'syntax', path: '', offset: 7 })
  })

  test.each([
    ['\ufeff{}', 0],
    ['{} {}', 3],
    ['{"id":1,}', 8],
    ['{,}', 1],
    ['{"id" 1}', 6],
    ['{"id":}', 6],
    ['{id:1}', 1],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['{"id":01}', 7],
    ['{"id":+1}', 6],
    ['{"id":1.}', 8],
    ['{"id":.5}', 6],
    ['{"id":1e}', 8],
    ['{"id":trux}', 9],
    ['{"id":nul}', 9],
    ['{"id":NaN}', 6],
    ["{'id':1}", 1],
    ['{"id":1]', 7],
    ['[1}', 2],
    ['{"id":\u00a01}', 6],
  ])('what is no JSON: %j', (text, offset) => {
    expect(refused(text, oneOrEach(request))).toMatchObject({ reason: 'syntax', offset })
    expect(refused(text, true)).toMatchObject({ reason: 'syntax', offset })
  })

  test.each(['"\\x"', '"\\u12g4"', '"a\tb"', '"a\nb"', `"${'x'.repeat(200)}\u0001${'x'.repeat(200)}"`])(
    'what is no JSON string, if strict: %j',
    (text) => {
      expect(scan(bytes(text), true).kind).toBe('string')
      expect(refused(text, true, { strict: true })).toMatchObject({ reason: 'syntax' })
      const value = scan(bytes(text), true)
      expect(() => stringOf(bytes(text), value)).toThrow(/illegal escape or character/)
      expect(() => parsed(bytes(text), value)).toThrow(/illegal escape or character/)
    },
  )

  test('every truncation of a text', () => {
    const whole =
      '{"id":-1.5e+3,"method":"t\\u00e9\\\\\\"","x":[true,false,null,{"a":[]}],"params":{"_meta":{"progressToken":0}}}'
    for (let end = 0; end < whole.length; end++) {
      for (const strict of [false, true]) {
        const error = fault(whole.slice(0, end), request, { strict })
        expect([error.name, error.reason, error.offset]).toEqual(['ScanError', 'truncated', end])
      }
    }
  })

  test('and says what and where', () => {
    expect(fault('{"params":{"_meta":{"progressToken":tru}}}').message).toBe(
      "params._meta.progressToken: '}' where 'true' is due at byte 39",
    )
    expect(fault('[{},{"id":}]', each({ id: true })).message).toMatch(/^\[1\]\.id: /)
    expect(fault('').message).toBe('the text ends where a value is due at byte 0')
    expect(fault(`{"${'n'.repeat(100_000)}":}`).message.length).toBeLessThan(200)
  })
})

describe('against JSON.parse', () => {
  const accepts = (text: Buffer, shape: Shape) => {
    try {
      scan(text, shape, { strict: true })
      return true
    } catch (error) {
      if ((error as ScanError).name !== 'ScanError') throw error
      if ((error as ScanError).reason === 'duplicate') return undefined
      return false
    }
  }
  const parses = (text: Buffer) => {
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text))
      return true
    } catch {
      return false
    }
  }
  const odd = fc.constantFrom(
    '{"a":[1,-0,0.5e-7,1E+2,"\\ud800\\"\\u0000"],"id":{"\\u006eame":"é😀"},"params":{"_meta":{}}}',
    ' \r\n\t[ ] ',
    '{ "params" : { "name" : "a\\\\" , "_meta" : { "x" : null } } , "id" : [ { } , [ ] ] }',
    `{"long":"${'x'.repeat(120)}\\n${'é'.repeat(60)}"}`,
  )
  const written = fc.oneof(odd, fc.json({ maxDepth: 4 }), fc.json({ stringUnit: 'binary' }))
  const charset = [...'{}[]:,"\\ \n\t0123456789.eE+-truefalsnu/b\u0000\u001f'].map((char) =>
    char.charCodeAt(0),
  )
  const byte = fc.oneof(fc.constantFrom(...charset), fc.integer({ min: 0, max: 255 }))
  const mutation = fc.record({ place: fc.nat(), byte, kind: fc.constantFrom('put', 'insert', 'delete') })

  test('strict takes what JSON.parse takes, and nothing else', () => {
    const check = fc.property(written, fc.array(mutation, { maxLength: 3 }), (json, mutations) => {
      let text = bytes(json)
      for (const { place, byte, kind } of mutations) {
        const from = place % (text.length + 1)
        const fresh = kind === 'delete' ? [] : [Buffer.from([byte])]
        text = Buffer.concat([
          text.subarray(0, from),
          ...fresh,
          text.subarray(kind === 'insert' ? from : from + 1),
        ])
      }
      const expected = parses(text)
      expect(accepts(text, true)).toBe(expected)
      const read = accepts(text, request)
      if (read !== undefined) expect(read).toBe(expected)
    })
    fc.assert(check, { numRuns: 3000 })
  })

  test('every value is found that JSON.parse finds', () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    const check = fc.property(
      fc.dictionary(fc.string(), value, { maxKeys: 30 }),
      fc.nat(4),
      (object, indent) => {
        const text = bytes(JSON.stringify(object, null, indent))
        const shape: Record<string, Shape> = Object.create(null)
        for (const name of Object.keys(object)) shape[name] = true
        const root = scan(text, shape, { strict: true })
        const found = [...(root.members ?? [])].map(([name, member]) => [name, parsed(text, member.value)])
        expect(found).toEqual(Object.entries(JSON.parse(text.toString())))
      },
    )
    fc.assert(check, { numRuns: 300 })
  })
})
