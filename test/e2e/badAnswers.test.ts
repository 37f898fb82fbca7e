import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText, type Json } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { ABLE, answersTo, type Call, keysOf, rawCall, retryOf, toolCall } from '../fixtures/rawCall.ts'

async function asked(call: Call) {
  const upstream = await startLegacySdk('post')
  const { url } = await startGateway(upstream.url)
  const round = await rawCall(url, call)
  expect(round.asks).toBe(true)
  return { upstream, url, round, key: keysOf(round)[0] ?? '' }
}

const ASK = toolCall('ask', { text: 'colour?' }, { authorization: 'Bearer ada' })

describe('M-MRTR-11: an answer that does not fit is refused and its round survives', () => {
  it.each<[string, unknown]>([
    ['a text', 'blue'],
    ['null', null],
    ['an array', []],
    ['an action of its own', { action: 'maybe' }],
    ['no action', { content: { answer: 'blue' } }],
    ['content that misses a required member', { action: 'accept', content: {} }],
    ['no content', { action: 'accept' }],
    ['content of the wrong type', { action: 'accept', content: { answer: 5 } }],
    ['content that is too short', { action: 'accept', content: { answer: 'b' } }],
    ['the answer to another kind', { roots: [] }],
  ])('a form: %s', async (_name, bad) => {
    const { upstream, url, round, key } = await asked(ASK)
    const refused = await rawCall(url, retryOf(ASK, round, { [key]: bad }))
    expect(refused.status).toBe(200)
    expect(refused.error).toMatchObject({ code: -32602, data: { reason: 'invalid_input_response' } })
    expect(JSON.stringify(at(refused.error, 'data'))).toContain(JSON.stringify(key))
    const done = await rawCall(url, retryOf(ASK, round, answersTo(round)))
    expect(firstText(done.result)).toBe('accept blue')
    expect(upstream.calls('ask')).toHaveLength(1)
  })

  it.each<[string, Json]>([
    ['sample', { action: 'accept', content: {} }],
    ['sample', { role: 'assistant', model: 'm' }],
    ['roots', { roots: 'file:///x' }],
    ['roots', { roots: [{ uri: 'https://example.com/' }] }],
  ])('%s answered with %j', async (name, bad) => {
    const call = toolCall(name)
    const { url, round, key } = await asked(call)
    const refused = await rawCall(url, retryOf(call, round, { [key]: bad }))
    expect(refused.error).toMatchObject({ code: -32602, data: { reason: 'invalid_input_response' } })
    const done = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(firstText(done.result)).toContain('blue')
  })

  it.each([null, [], 'blue', 7])('inputResponses that are %j', async (bad) => {
    const { url, round } = await asked(ASK)
    const call = retryOf(ASK, round)
    const refused = await rawCall(url, { ...call, params: { ...call.params, inputResponses: bad } })
    expect(refused.error?.code).toBe(-32602)
    const done = await rawCall(url, retryOf(ASK, round, answersTo(round)))
    expect(firstText(done.result)).toBe('accept blue')
  })

  it('one bad answer among good ones forwards none of them', async () => {
    const call = toolCall('ask-three')
    const { url, round } = await asked(call)
    const answers = answersTo(round)
    const form = keysOf(round).find((key) =>
      at(round.result, 'inputRequests', key, 'params', 'requestedSchema'),
    )
    const refused = await rawCall(url, retryOf(call, round, { ...answers, [String(form)]: { action: 'no' } }))
    expect(refused.error).toMatchObject({ code: -32602, data: { reason: 'invalid_input_response' } })
    const done = await rawCall(url, retryOf(call, round, answers))
    expect(firstText(done.result)).toBe('accept blue')
  })
})

describe('M-MRTR-07, M-MRTR-08, A-11: a request state opens for its own call and caller alone', () => {
  const refusal = { code: -32602, data: { reason: 'invalid_request_state' } }

  it.each<[string, (state: string) => unknown]>([
    ['one more character', (state) => `${state}A`],
    ['one less', (state) => state.slice(0, -1)],
    ['a changed byte', (state) => state.replace(/.(?=.{9}$)/, (letter) => (letter === 'A' ? 'B' : 'A'))],
    ['another key name', (state) => state.replace(/^mp1\.[^.]*/, 'mp1.other')],
    ['another version', (state) => state.replace(/^mp1/, 'mp2')],
    ['nothing in it', () => ''],
    ['our prefix alone', () => 'mp1..'],
    ['something else', () => 'hello'],
    ['a megabyte', () => `mp1.x.${'A'.repeat(1 << 20)}`],
  ])('refuses a state with %s', async (_name, change) => {
    const { url, round } = await asked(ASK)
    const call = retryOf(ASK, round, answersTo(round))
    const requestState = change(String(at(round.result, 'requestState')))
    const refused = await rawCall(url, { ...call, params: { ...call.params, requestState } })
    expect(refused.status).toBe(200)
    expect(refused.error).toMatchObject(refusal)
    const done = await rawCall(url, call)
    expect(firstText(done.result)).toBe('accept blue')
  })

  it.each<[string, Partial<Call>]>([
    ['another tool', { params: { name: 'ask-twice', arguments: { text: 'colour?' } } }],
    ['other arguments', { params: { name: 'ask', arguments: { text: 'colour!' } } }],
    ['no arguments', { params: { name: 'ask' } }],
    ['another method', { method: 'prompts/get', params: { name: 'ask', arguments: { text: 'colour?' } } }],
    ['another credential', { authorization: 'Bearer eve' }],
    ['no credential', { authorization: undefined }],
  ])('refuses it with %s', async (_name, change) => {
    const { upstream, url, round } = await asked(ASK)
    const refused = await rawCall(url, retryOf({ ...ASK, ...change }, round, answersTo(round)))
    expect(refused.status).toBe(200)
    expect(refused.error).toMatchObject(refusal)
    const done = await rawCall(url, retryOf(ASK, round, answersTo(round)))
    expect(firstText(done.result)).toBe('accept blue')
    expect(upstream.all((each) => each.what === 'call')).toHaveLength(1)
  })

  it('accepts the same arguments in other words', async () => {
    const call = toolCall('ask', { text: 'a', n: 1, deep: { x: [1.5, 'é'] } })
    const { url, round } = await asked(call)
    const retry = retryOf(call, round, answersTo(round))
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 'other words',
      method: 'tools/call',
      params: {
        requestState: at(retry.params, 'requestState'),
        inputResponses: at(retry.params, 'inputResponses'),
        arguments: 'ARGUMENTS',
        name: 'ask',
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': ABLE,
        },
      },
    }).replace('"ARGUMENTS"', '{"deep": {"x":[15e-1,"\\u00e9"]}, "n": 1.0, "text":"\\u0061"}')
    const done = await rawCall(url, { ...retry, id: 'other words', body })
    expect(firstText(done.result)).toBe('accept blue')
  })
})
