import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../src/errors.ts'
import { abandonedAnswer, checkInputResponse } from '../../../src/exchange/inputResponses.ts'
import { allCapabilities } from '../../../src/mcp/capabilities.ts'
import { type Question, readQuestion } from '../../../src/mcp/question.ts'
import { members, oddValue, request, written } from '../mcp/messages.ts'

const LATEST = '2025-11-25'
const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', LATEST]
const secret = 'person-typed-this'

function question(method: string, params: object): Question {
  const read = readQuestion(request({ id: 1, method, params }), { capabilities: allCapabilities })
  if (!read.ok) throw new Error(read.message)
  return read.question
}

const formOf = (properties: object, required?: string[]) =>
  question('elicitation/create', { message: 'm', requestedSchema: { type: 'object', properties, required } })
const form = formOf({})
const url = question('elicitation/create', { mode: 'url', message: 'm', url: 'https://example.com/' })
const sampling = question('sampling/createMessage', { messages: [], maxTokens: 1 })
const withTools = question('sampling/createMessage', { messages: [], maxTokens: 1, tools: [] })
const roots = question('roots/list', {})

const check = (asked: Question, entry: unknown, revision = LATEST) =>
  checkInputResponse(
    'k',
    asked,
    Buffer.from(typeof entry === 'string' ? entry : JSON.stringify(entry)),
    revision,
  ).toString()
const fault = (asked: Question, entry: unknown, revision = LATEST): GatewayError => {
  try {
    check(asked, entry, revision)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('not refused')
}
const field = (schema: object, value: unknown) => ({
  asked: formOf({ f: schema }),
  entry: { action: 'accept', content: { f: value } },
})

describe('checkInputResponse', () => {
  it('X-ANS-02: removes resultType, passes _meta and every other byte', () => {
    expect(
      check(
        form,
        '{ "action" : "accept","resultType":"complete","content":{"a":1.0,"b":"\\u00e9"},"_meta":{"x":[ ]}}',
      ),
    ).toBe('{ "action" : "accept","content":{"a":1.0,"b":"\\u00e9"},"_meta":{"x":[ ]}}')
  })

  it('X-ANS-03: removes content from declined, cancelled and URL answers', () => {
    expect(check(form, '{"action":"decline","content":{"a":1}}')).toBe('{"action":"decline"}')
    expect(check(form, '{"action":"cancel","content":null,"x":1}')).toBe('{"action":"cancel","x":1}')
    expect(check(url, '{"action":"accept","content":{}}')).toBe('{"action":"accept"}')
  })

  it.each(['null', '[]', '"accept"', '7'])('M-MRTR-11: refuses %s', (entry) => {
    expect(fault(form, entry)).toMatchObject({
      reason: 'invalid_input_response',
      details: { data: { key: 'k' } },
    })
  })

  it('M-MRTR-11: refuses answers of another kind', () => {
    const answers = [
      [form, { action: 'accept', content: {} }],
      [sampling, { role: 'assistant', model: 'm', content: { type: 'text', text: '' } }],
      [roots, { roots: [] }],
    ] as const
    for (const [asked] of answers) {
      for (const [other, answer] of answers) {
        if (other === asked) expect(JSON.parse(check(asked, answer))).toEqual(answer)
        else expect(fault(asked, answer).reason).toBe('invalid_input_response')
      }
    }
  })

  it('refuses unknown actions and a field that occurs twice', () => {
    expect(fault(form, { action: 'yes' }).message).toContain('["k"].action')
    const twice = '{"action":"accept","content":{"f":"ok","f":1}}'
    expect(fault(formOf({ f: { type: 'string' } }), twice).message).toContain('twice')
  })

  it('keeps every byte outside of what it owns', () => {
    const owned = { action: fc.constant('"accept"'), resultType: oddValue, _meta: oddValue }
    fc.assert(
      fc.property(members(owned), (all) => {
        const action = { name: 'action', before: '', value: '"accept"', after: '' }
        const entry = all.some(({ name }) => name === 'action') ? all : [...all, action]
        expect(check(form, written(entry))).toBe(written(entry.filter(({ name }) => name !== 'resultType')))
      }),
    )
  })
})

describe('content against requestedSchema (X-SRQ-09, X-ANS-03, M-MRTR-11)', () => {
  const titled = [
    { const: 'a', title: 'A' },
    { const: 'b', title: 'B' },
  ]
  it.each([
    [{ type: 'string' }, 'x', 5],
    [{ type: 'string', minLength: 2 }, '😀😀', '😀'],
    [{ type: 'string', maxLength: 2 }, '😀😀', 'abc'],
    [{ type: 'string', format: 'email' }, 'a@b.example', 'a.example'],
    [{ type: 'string', format: 'uri' }, 'urn:x:y', '/relative'],
    [{ type: 'string', format: 'date' }, '2024-02-29', '2023-02-29'],
    [{ type: 'string', format: 'date-time' }, '2024-02-29T23:59:60.5+01:00', '2024-02-29T24:00:00Z'],
    [{ type: 'number', minimum: 1, maximum: 2 }, 1.5, 2.5],
    [{ type: 'number' }, 1, '1'],
    [{ type: 'integer' }, 3, 3.5],
    [{ type: 'integer', minimum: 0 }, 0, -1],
    [{ type: 'boolean' }, false, 'false'],
    [{ type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] }, 'b', 'A'],
    [{ type: 'string', oneOf: titled }, 'b', 'B'],
    [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['b', 'a'], ['a', 'c']],
    [{ type: 'array', items: { anyOf: titled } }, [], ['A']],
    [{ type: 'array', minItems: 1, maxItems: 2, items: {} }, ['x'], []],
    [{ type: 'array', maxItems: 2, items: {} }, ['x'], ['a', 'b', 'c']],
    [{ type: 'array', items: {} }, ['x'], 'x'],
  ])('%j takes %j, not %j', (schema, good, bad) => {
    const right = field(schema, good)
    expect(JSON.parse(check(right.asked, right.entry))).toEqual(right.entry)
    const wrong = field(schema, bad)
    expect(fault(wrong.asked, wrong.entry).message).toContain('inputResponses["k"].content["f"]: must ')
  })

  it.each([
    { type: 'string', pattern: '^(a+)+$' },
    { type: 'string', format: 'hostname', minLength: 'x' },
  ])('ignores what is not of the subset: %j', (schema) => {
    const { asked, entry } = field(schema as object, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')
    expect(JSON.parse(check(asked, entry))).toEqual(entry)
  })

  it('wants what is required', () => {
    const asked = formOf({ f: { type: 'string' } }, ['f'])
    expect(fault(asked, { action: 'accept', content: {} }).message).toContain('.content["f"]: is required')
    expect(fault(asked, { action: 'accept' }).message).toContain('is required')
    expect(check(asked, { action: 'decline' })).toBe('{"action":"decline"}')
    expect(check(form, { action: 'accept' })).toBe('{"action":"accept"}')
  })

  it('lets fields beyond the schema through, but no value that no form has', () => {
    expect(check(form, { action: 'accept', content: { other: 'x' } })).toContain('other')
    for (const other of [null, {}, [1]])
      expect(fault(form, { action: 'accept', content: { other } }).message).toContain('["other"]')
    for (const content of [null, [], 'x'])
      expect(fault(form, { action: 'accept', content }).message).toContain('.content: must')
  })

  it('takes __proto__ for a name like any other', () => {
    const asked = formOf(JSON.parse('{"__proto__":{"type":"integer"}}'))
    expect(fault(asked, '{"action":"accept","content":{"__proto__":"x"}}').message).toContain('["__proto__"]')
    expect(check(asked, '{"action":"accept","content":{"__proto__":1}}')).toContain('__proto__')
  })

  it('X-ANS-03: lists of strings only from 2025-11-25 on', () => {
    const { asked, entry } = field({ type: 'array', items: {} }, ['a'])
    expect(fault(asked, entry, '2025-06-18').reason).toBe('invalid_input_response')
  })

  it('does not check a form of too many fields', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`f${index}`, { type: 'string' }]),
    )
    expect(check(formOf(properties), { action: 'accept', content: { f1: 1 } })).toContain('"f1":1')
  })

  it('M-ELI-06: never says what the person gave', () => {
    for (const schema of [
      { type: 'integer' },
      { type: 'string', maxLength: 1 },
      { type: 'string', enum: ['a'] },
      { type: 'string', format: 'date' },
    ]) {
      const { asked, entry } = field(schema, secret)
      expect(JSON.stringify([fault(asked, entry).message, fault(asked, entry).details])).not.toContain(secret)
    }
    expect(fault(roots, { roots: [{ uri: `https://${secret}` }] }).message).not.toContain(secret)
  })
})

describe('sampling answers', () => {
  const text = { type: 'text', text: 'x' }
  const answer = (content: unknown) => ({ role: 'assistant', model: 'm', content })

  it('X-ANS-04: unwraps a list of one where the question knows no lists', () => {
    const entry =
      '{"role":"assistant","model":"m","content":[ {"type":"text","text":"\\u00e9","n":1.0} ],"stopReason":"x"}'
    const single =
      '{"role":"assistant","model":"m","content":{"type":"text","text":"\\u00e9","n":1.0},"stopReason":"x"}'
    for (const revision of revisions) expect(check(sampling, entry, revision)).toBe(single)
    expect(check(withTools, entry, '2025-06-18')).toBe(single)
    expect(check(withTools, entry)).toBe(entry)
  })

  it('X-ANS-04: refuses longer lists there, and empty ones', () => {
    expect(fault(sampling, answer([text, text])).message).toContain('.content: must be one block')
    expect(fault(sampling, answer([])).reason).toBe('invalid_input_response')
    expect(fault(withTools, answer([text, text]), '2025-06-18').reason).toBe('invalid_input_response')
    expect(JSON.parse(check(withTools, answer([text, text])))).toEqual(answer([text, text]))
  })

  it('X-ANS-05: refuses blocks that the revision does not know', () => {
    const audio = answer({ type: 'audio', data: '', mimeType: 'audio/wav' })
    expect(fault(sampling, audio, '2024-11-05').message).toContain('.content.type')
    for (const revision of revisions.slice(1))
      expect(JSON.parse(check(sampling, audio, revision))).toEqual(audio)
    const use = answer([text, { type: 'tool_use', id: 'u', name: 't', input: {} }])
    expect(JSON.parse(check(withTools, use))).toEqual(use)
    expect(fault(withTools, use, '2025-06-18').message).toContain('.content[1].type')
    expect(fault(sampling, use).message).toContain('.content[1].type')
  })

  it.each([
    ['.role', { model: 'm', content: text }],
    ['.role', { role: 'system', model: 'm', content: text }],
    ['.model', { role: 'user', content: text }],
    ['.content', { role: 'user', model: 'm' }],
    ['.content', { role: 'user', model: 'm', content: 'x' }],
    ['.content.text', { role: 'user', model: 'm', content: { type: 'text' } }],
    ['.content.data', { role: 'user', model: 'm', content: { type: 'image', mimeType: 'x' } }],
    ['.content[0].type', { role: 'user', model: 'm', content: [7] }],
  ])('M-MRTR-11: refuses one without %s', (path, entry) => {
    expect(fault(sampling, entry).message).toContain(`["k"]${path}: must`)
  })
})

describe('roots answers', () => {
  it('X-ANS-06: pass with names and _meta', () => {
    const entry = '{"roots":[{"uri":"file:///a","name":"n","_meta":{"x":1.0}},{"uri":"file:///b"}]}'
    for (const revision of revisions) expect(check(roots, entry, revision)).toBe(entry)
  })

  it.each(['https://example.com/', '/a', 'FILE', 7, null])('M-ROO-01: refuses the root %j', (uri) => {
    expect(fault(roots, { roots: [{ uri: 'file:///a' }, { uri }] }).message).toContain('.roots[1].uri')
  })

  it('refuses what is no list of roots', () => {
    for (const entry of [{ roots: {} }, {}, { roots: ['file:///a'] }])
      expect(fault(roots, entry).reason).toBe('invalid_input_response')
  })
})

it('X-ANS-07, L-SAM-02, L-ROO-01: what is owed when nobody answers', () => {
  const owed = (kind: Question['kind']) => JSON.parse(`{${abandonedAnswer(kind)}}`)
  expect(owed('elicitation')).toEqual({ result: { action: 'cancel' } })
  expect(owed('sampling').error.code).toBe(-1)
  expect(owed('roots').error.code).toBe(-32603)
})
