import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText, type Json } from '../fixtures/json.ts'
import { ABLE, answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { type RawUpstreamOptions, startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'

async function start(options: RawUpstreamOptions = {}, ...set: string[]) {
  const upstream = await startRawUpstream(options)
  return { upstream, ...(await startGateway(upstream.url, ...set)) }
}

/** The JSON-RPC methods and HTTP verbs an upstream saw, in order, probes of the modern era left out. */
function orderOf(upstream: Awaited<ReturnType<typeof startRawUpstream>>): string[] {
  return upstream
    .all((each) => each.method !== 'server/discover')
    .map((each) => (each.verb === 'POST' ? (each.method ?? 'answer') : each.verb))
}

describe('opening a session for a client that knows nothing of sessions', () => {
  it('X-CAP-15, cases 1: initializes at the first call, opens the stream before initialized, and only then calls', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    expect(orderOf(upstream)).toEqual(['initialize', 'GET', 'notifications/initialized', 'tools/call'])
    request.result(DONE)
    expect(firstText((await call.answer).result)).toBe('done')

    const [initialize] = upstream.all((each) => each.method === 'initialize')
    expect(initialize?.headers['mcp-protocol-version']).toBeUndefined()
    expect(initialize?.session).toBeUndefined()
    expect(initialize?.message?.params).toMatchObject({ protocolVersion: '2025-11-25' })
    // X-CAP-14: the upstream sees us, not the client.
    expect(at(initialize?.message, 'params', 'clientInfo', 'name')).not.toBe('raw-client')
    for (const later of upstream.all((each) => each.session !== undefined)) {
      expect(later.headers['mcp-protocol-version']).toBe('2025-11-25')
      expect(later.session).toBe('raw-session-1')
    }
  })

  it.each([
    ['2025-11-25', { elicitation: {}, sampling: {}, roots: {} }],
    ['2025-11-25', { elicitation: { form: {}, url: {} }, sampling: { tools: {} } }],
  ])(
    'L-LIF-03, X-CAP-08…13: declares to a %s server what the client declared',
    async (version, capabilities) => {
      const { upstream, url } = await start({ version })
      const call = startCall(url, toolCall('any', {}, { capabilities }))
      const request = await upstream.method('tools/call')
      const [initialize] = upstream.all((each) => each.method === 'initialize')
      expect(at(initialize?.message, 'params', 'capabilities')).toEqual(capabilities)
      request.result(DONE)
      await call.answer
    },
  )

  it.each([
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', undefined],
    ['2024-11-05', undefined],
  ])('L-HTTP-10: a %s server hears the version header %s', async (version, header) => {
    const { upstream, url } = await start({ version })
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    expect(request.headers['mcp-protocol-version']).toBe(header)
    request.result(DONE)
    await call.answer
  })

  it('cases 8, X-ENV-01, X-ENV-14, T-13: no reserved key and no mirrored header goes upstream, others do', async () => {
    const { upstream, url } = await start()
    const body: Json = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'any',
        task: { ttl: 1 },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
          'com.example/tenant': 7,
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        },
      },
    }
    const headers = { 'mcp-param-city': 'Oslo' }
    const call = startCall(url, { ...toolCall('any'), headers, body: JSON.stringify(body) })
    const list = await upstream.method('tools/list')
    list.result({ tools: [] })
    const request = await upstream.method('tools/call')
    expect(request.message?.params).toEqual({
      name: 'any',
      _meta: {
        'com.example/tenant': 7,
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
    })
    const mirrored = Object.keys(request.headers).filter((name) => /^mcp-(method|name|param)/.test(name))
    expect(mirrored).toEqual([])
    request.result(DONE)
    await call.answer
  })

  it('cases 10: roots asked right after initialized are settled before the call goes upstream', async () => {
    const { upstream, url } = await start({
      script: (request, self) => {
        if (request.method !== 'notifications/initialized') return false
        request.status(202)
        self.say({ jsonrpc: '2.0', id: 'r', method: 'roots/list' }, request.session)
        return true
      },
    })
    const call = toolCall('any')
    const round = await rawCall(url, call)
    const [key = ''] = keysOf(round)
    expect(at(round.result, 'inputRequests', key, 'method')).toBe('roots/list')
    expect(upstream.all((each) => each.method === 'tools/call')).toHaveLength(0)
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('r')
    const request = await upstream.method('tools/call')
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it.each([405, 404, 400, 501])('cases 28: a GET answered %i means no stream; calls work', async (status) => {
    const { upstream, url } = await start({
      script: (request) => {
        if (request.verb !== 'GET') return false
        request.status(status)
        return true
      },
    })
    for (const text of ['one', 'two']) {
      const call = startCall(url, toolCall('any', { text }))
      const request = await upstream.method('tools/call')
      request.result(DONE)
      expect(firstText((await call.answer).result)).toBe('done')
    }
    expect(upstream.all((each) => each.verb === 'GET').length).toBeLessThanOrEqual(2)
    expect(upstream.all((each) => each.method === 'initialize')).toHaveLength(1)
  })

  it('serves an upstream that gives no session id and never sends it a DELETE', async () => {
    const { upstream, url, close } = await start({ sessionIds: false })
    const call = toolCall('any')
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    request.say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    const round = await first.answer
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
    await close()
    expect(upstream.all((each) => each.verb === 'DELETE')).toHaveLength(0)
  })

  it('ends its sessions when the gateway closes', async () => {
    const { upstream, url, close } = await start()
    const call = startCall(url, toolCall('any', {}, { authorization: 'Bearer a' }))
    ;(await upstream.method('tools/call')).result(DONE)
    await call.answer
    await close()
    const [end] = upstream.all((each) => each.verb === 'DELETE')
    expect(end?.session).toBe('raw-session-1')
    expect(end?.headers.authorization).toBe('Bearer a')
  })

  it('M-VER-03, L-BASE-03: a method whose capability was never declared is 404 and not asked', async () => {
    const { upstream, url } = await start({ capabilities: { tools: {} } })
    for (const [method, params] of [
      ['prompts/list', {}],
      ['prompts/get', { name: 'x' }],
      ['resources/list', {}],
      ['resources/read', { uri: 'x:y' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } }],
    ] as const) {
      const refused = await rawCall(url, { method, params, capabilities: ABLE })
      expect([method, refused.status, refused.error?.code]).toEqual([method, 404, -32601])
      expect(upstream.all((each) => each.method === method)).toHaveLength(0)
    }
  })

  it('M-VER-02: server/discover tells what initialize told', async () => {
    const { url } = await start()
    const { result } = await rawCall(url, { method: 'server/discover' })
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'raw-upstream', version: '1.0.0' } },
    })
    expect(result).toMatchObject({ ttlMs: expect.any(Number), cacheScope: 'private' })
    expect(result).not.toHaveProperty('protocolVersion')
  })
})
