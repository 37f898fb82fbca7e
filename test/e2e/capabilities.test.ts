import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText, type Json } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { answersTo, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const FORM = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
const URL_ASK = { mode: 'url', message: 'm', url: 'https://example.com/x', elicitationId: 'e' }
const SAMPLE = { maxTokens: 1, messages: [{ role: 'user', content: { type: 'text', text: 't' } }] }
const TOOLS = [{ name: 't', inputSchema: { type: 'object' } }]

describe.each(['post', 'get', 'sse'] as const)('a client that declares too little, mode %s', (mode) => {
  it.each<[string, Json, Json]>([
    ['ask', { sampling: {}, roots: {} }, { elicitation: {} }],
    ['ask', {}, { elicitation: {} }],
    ['sample', { elicitation: {}, roots: {} }, { sampling: {} }],
    ['roots', { elicitation: {}, sampling: {} }, { roots: {} }],
    ['roots', {}, { roots: {} }],
  ])('M-BASE-16: %s with %j is -32021', async (name, capabilities, required) => {
    const upstream = await startLegacySdk(mode)
    const { url } = await startGateway(upstream.url)
    const refused = await rawCall(url, toolCall(name, {}, { capabilities }))
    expect(refused.status).toBe(400)
    expect(refused.error?.code).toBe(-32021)
    expect(at(refused.error, 'data', 'requiredCapabilities')).toMatchObject(required)
    // It does not stick to anyone else.
    const able = toolCall(name)
    const round = await rawCall(url, able)
    const done = await rawCall(url, retryOf(able, round, answersTo(round)))
    expect(firstText(done.result)).toContain('blue')
  })
})

describe('what a request does not cover is refused upstream, and the call goes on', () => {
  it.each<[string, Json, string, Json, number, Json]>([
    ['form without elicitation', { roots: {} }, 'elicitation/create', FORM, -32601, { elicitation: {} }],
    [
      'cases 5: url where form is declared',
      { elicitation: {} },
      'elicitation/create',
      URL_ASK,
      -32602,
      { elicitation: { url: {} } },
    ],
    [
      'form where url is declared',
      { elicitation: { url: {} } },
      'elicitation/create',
      FORM,
      -32602,
      { elicitation: { form: {} } },
    ],
    ['sampling', { roots: {} }, 'sampling/createMessage', SAMPLE, -32601, { sampling: {} }],
    [
      'M-SAM-01, L-SAM-01: sampling with tools',
      { sampling: {} },
      'sampling/createMessage',
      { ...SAMPLE, tools: TOOLS },
      -32602,
      { sampling: { tools: {} } },
    ],
  ])('%s', async (_name, capabilities, method, params, code, required) => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    for (const [end, status, errorCode] of [
      ['result', 200, undefined],
      ['isError', 400, -32021],
      ['error', 400, -32021],
    ] as const) {
      const call = startCall(url, toolCall('any', {}, { capabilities }))
      const request = await upstream.method('tools/call')
      request.say({ jsonrpc: '2.0', id: 'q', method, params })
      expect((await upstream.answer('q')).message?.error).toMatchObject({ code })
      if (end === 'result') request.result('{"content":[]}')
      else if (end === 'isError') request.result('{"content":[],"isError":true}')
      else request.error({ code: -32000, message: 'no' })
      const answer = await call.answer
      expect([end, answer.status, answer.error?.code]).toEqual([end, status, errorCode])
      if (errorCode !== undefined)
        expect(at(answer.error, 'data')).toEqual({ requiredCapabilities: required })
    }
  })

  it.each(['tasks/get', 'vendor/question'])(
    'an unknown question (%s) is -32601 and no -32021',
    async (method) => {
      const upstream = await startRawUpstream()
      const { url } = await startGateway(upstream.url)
      const call = startCall(url, toolCall('any'))
      const request = await upstream.method('tools/call')
      request.say({ jsonrpc: '2.0', id: 'q', method, params: {} })
      expect((await upstream.answer('q')).message?.error).toMatchObject({ code: -32601 })
      request.result('{"content":[],"isError":true}')
      expect((await call.answer).result).toMatchObject({ isError: true })
    },
  )

  it('cases 20, X-SRQ-13: a question during a list is refused and the list passes', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, { method: 'tools/list', capabilities: { sampling: {}, elicitation: {} } })
    const request = await upstream.method('tools/list')
    request.say({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: SAMPLE })
    expect((await upstream.answer('q')).message?.error).toMatchObject({ code: -32601 })
    request.result('{"tools":[]}')
    expect((await call.answer).result?.tools).toEqual([])
  })

  it('M-MRTR-06: a retry that covers a pending question no longer is -32021, and the question stays', async () => {
    const upstream = await startLegacySdk('post')
    const { url } = await startGateway(upstream.url)
    const call = toolCall('ask')
    const round = await rawCall(url, call)
    const refused = await rawCall(url, retryOf({ ...call, capabilities: { roots: {} } }, round))
    expect(refused.error?.code).toBe(-32021)
    const done = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(firstText(done.result)).toBe('accept blue')
  })

  it('X-SRQ-05, M-ELI-07: a URL question goes out without elicitationId; accept is consent alone', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = toolCall('any', {}, { capabilities: { elicitation: { url: {} } } })
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    request.say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: URL_ASK })
    const round = await first.answer
    const { elicitationId: _gone, ...wanted } = URL_ASK
    expect(at(round.result, 'inputRequests', 'q', 'params')).toEqual(wanted)
    const retry = startCall(url, retryOf(call, round, { q: { action: 'accept' } }))
    expect((await upstream.answer('q')).message?.result).toEqual({ action: 'accept' })
    request.result('{"content":[{"type":"text","text":"done"}]}')
    expect(firstText((await retry.answer).result)).toBe('done')
  })
})
