import { describe, expect, it } from 'vitest'
import { allCapabilities, reduce } from '../../../src/mcp/capabilities.ts'
import { readMessages } from '../../../src/mcp/message.ts'
import { covers, generatedLooking, type Question, readQuestion } from '../../../src/mcp/question.ts'
import { request } from './messages.ts'

const prefix = 'io.modelcontextprotocol/'
const read = (message: string | object, declared?: Record<string, unknown>) =>
  readQuestion(request(message), { capabilities: declared ? reduce(declared) : allCapabilities })
const accepted = (message: string | object, declared?: Record<string, unknown>): Question => {
  const answer = read(message, declared)
  if (!answer.ok) throw new Error(answer.message)
  return answer.question
}
const input = (message: string | object, declared?: Record<string, unknown>) =>
  accepted(message, declared).input.toString()

const form = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
const url = { mode: 'url', message: 'm', url: 'https://example.com/', elicitationId: 'e' }
const sampling = { messages: [], maxTokens: 1 }
const elicit = (params: object, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params,
})
const sample = (params: object) => ({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params })

describe('readQuestion: what the client is shown', () => {
  it('X-SRQ-01, X-SRQ-09, M-MRTR-05: method and params alone, byte for byte', () => {
    const params =
      '{"message":"\\u00e9", "requestedSchema" : {"type":"object","properties":{"a":{"type":"number","default":1.0,"enumNames":[ ]}}},"x":9007199254740993}'
    expect(
      input(`{"jsonrpc":"2.0","id":"q","extra":1,"method":"elicitation/create","params":${params}}`),
    ).toBe(`{"method":"elicitation/create","params":${params}}`)
  })

  it.each(['7', '"7"', '9007199254740993', '"\\u0061"'])('X-SRQ-01: keeps the raw id %s', (id) => {
    expect(accepted(`{"id":${id},"method":"roots/list"}`).id.toString()).toBe(id)
  })

  it('X-SRQ-02, L-TSK-05: removes task', () => {
    expect(JSON.parse(input(elicit({ ...form, task: { ttl: 1 } }))).params).toEqual(form)
  })

  it('X-SRQ-03: removes what is used here from _meta, and an empty one with it', () => {
    const used = { progressToken: 'p', [`${prefix}related-task`]: { taskId: 't' } }
    expect(JSON.parse(input(elicit({ ...form, _meta: used }))).params).toEqual(form)
    expect(JSON.parse(input(elicit({ ...form, _meta: { ...used, a: 1 } }))).params).toEqual({
      ...form,
      _meta: { a: 1 },
    })
    expect(JSON.parse(input(elicit({ ...form, _meta: 7 }))).params).toEqual(form)
    const question = accepted(elicit({ ...form, _meta: used }))
    expect(question.progressToken?.toString()).toBe('"p"')
    expect(question.relatedTask).toBe('t')
  })

  it('X-SRQ-04, L-ELI-01: passes mode as it is, none is form', () => {
    expect(input(elicit(form))).not.toContain('mode')
    expect(input(elicit({ mode: 'form', ...form }))).toContain('"mode":"form"')
    expect(accepted(elicit(form))).toMatchObject({
      kind: 'elicitation',
      mode: 'form',
      needs: 'form',
      requestedSchema: form.requestedSchema,
    })
    expect(accepted(elicit(url))).toMatchObject({ mode: 'url', needs: 'url', requestedSchema: undefined })
  })

  it('X-SRQ-05: removes elicitationId and remembers it', () => {
    expect(input(elicit(url))).not.toContain('elicitationId')
    expect(accepted(elicit(url)).elicitationId).toBe('e')
  })

  it('X-SRQ-06, M-SAM-03: no includeContext without sampling.context', () => {
    for (const includeContext of ['thisServer', 'allServers']) {
      expect(input(sample({ ...sampling, includeContext }), { sampling: {} })).not.toContain('includeContext')
      expect(input(sample({ ...sampling, includeContext }), { sampling: { context: {} } })).toContain(
        includeContext,
      )
    }
    expect(input(sample({ ...sampling, includeContext: 'none' }), { sampling: {} })).toContain(
      '"includeContext":"none"',
    )
  })

  it('X-SRQ-07, X-SRQ-08: removes execution inside tools, passes all content', () => {
    const messages = [
      {
        role: 'user',
        content: [{ type: 'tool_result', toolUseId: 'u', structuredContent: { execution: 1 } }],
      },
    ]
    const shown = input(
      sample({ ...sampling, messages, tools: [{ name: 'a', execution: {} }], toolChoice: { mode: 'auto' } }),
    )
    expect(JSON.parse(shown).params).toEqual({
      ...sampling,
      messages,
      tools: [{ name: 'a' }],
      toolChoice: { mode: 'auto' },
    })
  })

  it('passes roots with and without params', () => {
    expect(input('{"id":1,"method":"roots/list"}')).toBe('{"method":"roots/list"}')
    expect(input('{"id":1,"method":"roots/list","params":{"_meta":{"progressToken":1}}}')).toBe(
      '{"method":"roots/list","params":{}}',
    )
    expect(input('{"id":1,"method":"roots/list","params":null}')).toBe('{"method":"roots/list"}')
  })

  it('does not hold on to the bytes it came in', () => {
    const text = Buffer.from(JSON.stringify(elicit({ ...form, _meta: { progressToken: 'p' } }, 'q')))
    const [message] = readMessages(text)
    if (message?.kind !== 'request') throw new Error('no request')
    const read = readQuestion(message, { capabilities: allCapabilities })
    if (!read.ok) throw new Error(read.message)
    const { question } = read
    const before = [question.input, question.id, question.progressToken].map(String)
    text.fill(0x20)
    expect([question.input, question.id, question.progressToken].map(String)).toEqual(before)
  })
})

describe('readQuestion: the key', () => {
  it('M-MRTR-04: takes the upstream’s id where it is fit', () => {
    for (const id of ['a', 'A-1_b', 'x'.repeat(64), 'elicitation-x'])
      expect(accepted(elicit(form, id)).preferredKey).toBe(id)
  })

  it.each([
    1,
    '',
    'x'.repeat(65),
    'a b',
    'é',
    'a"',
    '__proto__',
    'constructor',
    'prototype',
    'elicitation-1',
    'sampling-22',
    'roots-0',
  ])('M-MRTR-04: not %j', (id) => {
    expect(accepted(elicit(form, id)).preferredKey).toBeUndefined()
  })

  it('knows the keys that are made up here', () => {
    expect(['elicitation-1', 'sampling-3', 'roots-10'].every(generatedLooking)).toBe(true)
    expect(['elicitation-', 'x-1', 'elicitation-1a'].some(generatedLooking)).toBe(false)
  })
})

describe('readQuestion: refusals', () => {
  it.each([
    ['form, nothing declared', elicit(form), { roots: {} }, -32601, { elicitation: {} }],
    [
      'form, only url declared',
      elicit(form),
      { elicitation: { url: {} } },
      -32602,
      { elicitation: { form: {} } },
    ],
    ['url, only form declared', elicit(url), { elicitation: {} }, -32602, { elicitation: { url: {} } }],
    ['url, nothing declared', elicit(url), {}, -32601, { elicitation: { url: {} } }],
    ['sampling', sample(sampling), {}, -32601, { sampling: {} }],
    ['tools', sample({ ...sampling, tools: [] }), { sampling: {} }, -32602, { sampling: { tools: {} } }],
    [
      'toolChoice',
      sample({ ...sampling, toolChoice: {} }),
      { sampling: {} },
      -32602,
      { sampling: { tools: {} } },
    ],
    ['roots', { id: 1, method: 'roots/list' }, { sampling: {} }, -32601, { roots: {} }],
  ])('X-SRQ-10, M-MRTR-06: %s', (_, message, declared, code, undeclared) => {
    expect(read(message, declared)).toMatchObject({ ok: false, code, undeclared })
  })

  it.each(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'vendor/x', 'toString'])(
    'X-SRQ-14: %s is unknown',
    (method) => {
      expect(read({ id: 1, method, params: {} })).toMatchObject({
        ok: false,
        code: -32601,
        undeclared: undefined,
      })
    },
  )

  it.each([
    ['a URL that does not parse', elicit({ ...url, url: 'not a url' })],
    ['no URL', elicit({ mode: 'url', message: 'm' })],
    ['an unknown mode', elicit({ ...form, mode: 'voice' })],
    ['a form without schema', elicit({ message: 'm' })],
    ['a form without message', elicit({ requestedSchema: {} })],
    ['an elicitation without params', { id: 1, method: 'elicitation/create' }],
    ['sampling without messages', sample({ maxTokens: 1 })],
    ['sampling without maxTokens', sample({ messages: [] })],
    [
      'a bad escape',
      '{"id":1,"method":"elicitation/create","params":{"message":"\\x","requestedSchema":{}}}',
    ],
    [
      'a member twice',
      '{"id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[{"execution":1,"execution":2}]}}',
    ],
  ])('M-ELI-02, M-MRTR-05: %s is -32602', (_, message) => {
    expect(read(message)).toMatchObject({ ok: false, code: -32602, undeclared: undefined })
  })
})

describe('covers', () => {
  it('M-MRTR-06: names what a later request no longer declares', () => {
    expect(covers(accepted(elicit(form)), reduce({ elicitation: {} }))).toBeUndefined()
    expect(covers(accepted(elicit(form)), reduce({}))).toEqual({ elicitation: {} })
    expect(covers(accepted(elicit(url)), reduce({ elicitation: {} }))).toEqual({ elicitation: { url: {} } })
    expect(covers(accepted(sample({ ...sampling, tools: [] })), reduce({ sampling: {} }))).toEqual({
      sampling: { tools: {} },
    })
  })
})
