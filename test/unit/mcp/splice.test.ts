import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { oneLine } from '../../../src/mcp/oneLine.ts'
import { at, parsed, type Shape, scan, type Value } from '../../../src/mcp/scan.ts'
import { createSplice, splitAt } from '../../../src/mcp/splice.ts'

const shape: Shape = { a: true, b: { c: true, d: true }, e: true }

function value(root: Value, ...path: string[]): Value {
  const found = at(root, ...path)
  if (found === undefined) throw new Error(`nothing at ${path}`)
  return found
}

function edit(json: string, act: (splice: ReturnType<typeof createSplice>, root: Value) => void): string {
  const text = Buffer.from(json)
  const splice = createSplice(text)
  act(splice, scan(text, shape))
  return splice.bytes().toString()
}

describe('removing', () => {
  test.each([
    [['a'], '{ "x":0 , "b":2 ,"e" :3 }'],
    [['b'], '{"a":1, "x":0 ,"e" :3 }'],
    [['e'], '{"a":1, "x":0 , "b":2 }'],
    [['a', 'b'], '{ "x":0 ,"e" :3 }'],
    [['e', 'b', 'a'], '{ "x":0 }'],
  ])('%s', (names, expected) => {
    // A removed member takes the white space around it along.
    const kept = edit('{"a":1, "x":0 , "b":2 ,"e" :3 }', (splice, root) => {
      for (const name of names) splice.remove(root, name)
    })
    expect(JSON.parse(kept)).toEqual(JSON.parse(expected))
    expect(kept.replaceAll(' ', '')).toBe(expected.replaceAll(' ', ''))
  })

  test('every subset of the members of an object, with and without a new one', () => {
    const names = ['a', 'b', 'e']
    for (const order of ['abxe', 'xabe', 'abex', 'eba', 'a', 'x', '']) {
      const json = `{${[...order].map((name, i) => ` "${name}" : ${i} `)}}`
      for (let subset = 0; subset < 8; subset++) {
        for (const added of [false, true]) {
          const expected = JSON.parse(json)
          const edited = edit(json, (splice, root) => {
            names.forEach((name, bit) => {
              if (((subset >> bit) & 1) === 0) return
              splice.remove(root, name)
              delete expected[name]
            })
            if (!added) return
            splice.set(root, 'e', '"new"')
            splice.set(root, 'a', '[]')
            expected.e = 'new'
            expected.a = []
          })
          expect(JSON.parse(edited)).toEqual(expected)
        }
      }
    }
  })

  test('an edit inside goes with it', () => {
    const edited = edit('{"a":0,"b":{"c":1,"d":2}}', (splice, root) => {
      splice.replace(value(root, 'b', 'c'), '9')
      splice.set(value(root, 'b'), 'd', '9')
      splice.remove(root, 'b')
    })
    expect(edited).toBe('{"a":0}')
  })

  test('of what is not there changes nothing', () => {
    expect(edit('{"x":1}', (splice, root) => splice.remove(root, 'a'))).toBe('{"x":1}')
  })
})

describe('setting', () => {
  test('keeps everything else, byte for byte', () => {
    const edited = edit('{"n":1.0, "u":"\\u0041" ,"a" : 1 ,"b":{ }\n}', (splice, root) => {
      splice.set(root, 'a', '2')
      splice.set(value(root, 'b'), 'c', Buffer.from('"é"'))
    })
    expect(edited).toBe('{"n":1.0, "u":"\\u0041" ,"a" : 2 ,"b":{ "c":"é"}\n}')
  })

  test('the last word counts', () => {
    const all = edit('{"a":1,"b":2}', (splice, root) => {
      splice.remove(root, 'a')
      splice.set(root, 'a', '3')
      splice.set(root, 'a', '4')
      splice.set(root, 'b', '5')
      splice.remove(root, 'b')
      splice.set(root, 'e', '6')
      splice.set(root, 'e', '7')
    })
    expect(all).toBe('{"a":4,"e":7}')
    const none = edit('{"x":1}', (splice, root) => {
      splice.set(root, 'e', '6')
      splice.remove(root, 'e')
    })
    expect(none).toBe('{"x":1}')
  })

  test('a value that is replaced takes the edits inside along', () => {
    const edited = edit('{"b":{"c":1}}', (splice, root) => {
      splice.replace(value(root, 'b'), '[]')
      splice.set(value(root, 'b'), 'c', '2')
      splice.set(value(root, 'b'), 'd', '3')
    })
    expect(edited).toBe('{"b":[]}')
  })

  test('a name is escaped', () => {
    const shape: Shape = { 'a"\\\ud800': true }
    const text = Buffer.from('{}')
    const splice = createSplice(text)
    splice.set(scan(text, shape), 'a"\\\ud800', '1')
    expect(splice.bytes().toString()).toBe('{"a\\"\\\\\\ud800":1}')
  })

  test('refuses names and values that were not read', () => {
    const text = Buffer.from('{"a":{"c":1},"z":2}')
    const splice = createSplice(text)
    const root = scan(text, shape)
    expect(() => splice.set(root, 'z', '1')).toThrow(TypeError)
    expect(() => splice.remove(root, 'z')).toThrow(TypeError)
    expect(() => splice.set(value(root, 'a'), 'c', '1')).toThrow(TypeError)
  })
})

test('parts are views of the text', () => {
  const text = Buffer.from('{"a":1,"x":"long"}')
  const splice = createSplice(text)
  expect(splice.parts()).toEqual([text])
  splice.replace(value(scan(text, shape), 'a'), '2')
  const parts = splice.parts()
  expect(parts.map(String)).toEqual(['{"a":', '2', ',"x":"long"}'])
  expect(parts[2]?.buffer).toBe(text.buffer)
})

test('splitAt', () => {
  const text = Buffer.from('{"a":1,"x":2}')
  expect(splitAt(text, value(scan(text, shape), 'a')).map(String)).toEqual(['{"a":', ',"x":2}'])
})

describe('properties', () => {
  const json = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }).map((any) => JSON.stringify(any)),
    fc.constantFrom('"\\u00e9\\ud800"', '9007199254740993', '1.0', '-0', '1e400', ' [ ] ', '{ "a" : { } }'),
  )
  const space = fc.constantFrom('', '', ' ', '\n\t', '\r\n')
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'x', 'y', '__proto__', 'z"\\', '\ud800')
  const members = fc.uniqueArray(fc.record({ name, json, before: space, after: space }), {
    selector: (member) => member.name,
  })
  const written = members.map((all) => {
    const texts = all.map(({ name, json, before, after }) => {
      const escaped = name === 'a' && after !== '' ? '"\\u0061"' : JSON.stringify(name)
      return `${before}${escaped}${after}:${before}${json}${after}`
    })
    return `{${texts.join(',')}}`
  })
  const verb = fc.constantFrom('set', 'remove', 'replace')
  const edits = fc.array(fc.record({ verb, name: fc.constantFrom('a', 'b', 'e'), json }), { maxLength: 6 })

  test('splice then parse is parse then edit', () => {
    const check = fc.property(written, edits, (json, edits) => {
      const text = Buffer.from(json)
      const root = scan(text, shape)
      const splice = createSplice(text)
      const expected = new Map<string, unknown>(Object.entries(JSON.parse(json)))
      for (const { verb, name, json } of edits) {
        const member = root.members?.get(name)
        if (verb === 'remove') {
          splice.remove(root, name)
          expected.delete(name)
        } else if (verb === 'set') {
          splice.set(root, name, json)
          expected.set(name, JSON.parse(json))
        } else if (member !== undefined && expected.has(name)) {
          splice.replace(member.value, json)
          expected.set(name, JSON.parse(json))
        }
      }
      const edited = splice.bytes()
      expect(new Map(Object.entries(JSON.parse(edited.toString())))).toEqual(expected)
      expect(Buffer.concat(splice.parts())).toEqual(edited)
      const untouched = { x: true, y: true, c: true, d: true } as const
      const before = scan(text, untouched)
      const after = scan(edited, untouched)
      for (const [name, member] of before.members ?? []) {
        const kept = text.toString('latin1', member.from, member.to)
        const now = after.members?.get(name)
        expect(edited.toString('latin1', now?.from, now?.to)).toContain(kept.trimEnd())
      }
    })
    fc.assert(check, { numRuns: 1000 })
  })

  test('oneLine: the same value without line breaks', () => {
    const check = fc.property(written, (json) => {
      const line = oneLine(Buffer.from(json))
      expect(line.toString()).not.toMatch(/[\r\n]/)
      expect(line.length).toBe(Buffer.byteLength(json))
      expect(parsed(line, scan(line, true))).toEqual(JSON.parse(json))
    })
    fc.assert(check, { numRuns: 300 })
  })
})

describe('oneLine', () => {
  test('is the same Buffer when there is nothing to do', () => {
    const text = Buffer.from('{"a":"\\n"}')
    expect(oneLine(text)).toBe(text)
  })

  test('leaves the text it was given alone', () => {
    const text = Buffer.from('{\r\n"a":\t"x\\" \\\\" ,\n"b":1}\n')
    expect(oneLine(text).toString()).toBe('{  "a":\t"x\\" \\\\" , "b":1} ')
    expect(text.toString()).toContain('\r\n')
  })

  test.each(['{"a":"x\ny"}', '{\n"a":"x\ry"}', '{"a\r\n":1}', `["\\"${'x'.repeat(300)}\n"]`])(
    'refuses a line break in a string: %j',
    (json) => {
      expect(() => oneLine(Buffer.from(json))).toThrow(/raw line break in a string/)
    },
  )
})
