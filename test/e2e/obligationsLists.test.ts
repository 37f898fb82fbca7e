import { describe, expect, it, onTestFinished } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, type Json } from '../fixtures/json.ts'
import { ANNOUNCING, changed, startListening } from '../fixtures/listener.ts'
import { listening } from '../fixtures/listening.ts'
import { ABLE, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'
import { relayed } from '../fixtures/relayed.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'

async function start() {
  const upstream = await startRawUpstream({ capabilities: ANNOUNCING })
  return { upstream, ...(await startGateway(upstream.url)) }
}

const list = (params: Json, more: Json = {}) => ({ method: 'tools/list', params, ...more })

describe('pages', () => {
  it('cases 40, M-PAG-02, L-SRV-02, X-LST-09: cursors pass unread in both directions, the empty one too', async () => {
    const { upstream, url } = await start()
    const pages: [Json, Json | undefined][] = [
      [{}, { nextCursor: '' }],
      [{ cursor: '' }, { nextCursor: '=?é" \\n' }],
      [{ cursor: '=?é" \\n' }, undefined],
    ]
    for (const [params, next] of pages) {
      const { request, answer } = await relayed(upstream, url, list(params), { tools: [], ...next })
      expect(request.message?.params ?? {}).toEqual(params)
      expect(answer.result?.nextCursor).toBe(next?.nextCursor)
    }
    // Nothing was followed that no client asked for.
    expect(upstream.all((each) => each.method === 'tools/list')).toHaveLength(3)
  })

  it('M-CACHE-05: an answer is never given for another cursor, credential or set of capabilities', async () => {
    const { upstream, url } = await start()
    const callers: [Json, Json][] = [
      [{}, {}],
      [{ cursor: 'a' }, {}],
      [{ cursor: 'b' }, {}],
      [{}, { authorization: 'Bearer other' }],
      [{}, { capabilities: ABLE }],
    ]
    for (const [index, [params, more]] of [...callers, ...callers].entries()) {
      const tools = [{ name: `tool-${index}`, inputSchema: { type: 'object' } }]
      const { answer } = await relayed(upstream, url, list(params, more), { tools })
      expect(answer.result?.tools).toEqual(tools)
    }
  })

  it('M-CACHE-08: after the news of a change the list is the new one', async () => {
    const { upstream, url } = await start()
    const listener = startListening(url, { toolsListChanged: true })
    await listener.acknowledged()
    for (const name of ['old', 'new']) {
      const tools = [{ name, inputSchema: { type: 'object' } }]
      const { answer } = await relayed(upstream, url, list({}), { tools })
      expect(answer.result?.tools).toEqual(tools)
      upstream.say(changed('tools'))
      expect(await listener.hears(1)).toEqual(['tools/list_changed'])
    }
  })
})

describe('what a list is asked on', () => {
  it('M-TOOL-01: on the shared session, whatever calls run or were made', async () => {
    const { upstream, url } = await start()
    const seen = new Set<string | undefined>()
    const call = startCall(url, toolCall('any'))
    const leased = await upstream.method('tools/call')
    for (let i = 0; i < 2; i += 1) {
      const { request } = await relayed(upstream, url, list({}, { capabilities: ABLE }), { tools: [] })
      seen.add(request.session)
    }
    leased.result(DONE)
    await call.answer
    const { request } = await relayed(upstream, url, list({}, { capabilities: ABLE }), { tools: [] })
    seen.add(request.session)
    expect(seen.size).toBe(1)
    expect(seen).not.toContain(leased.session)
  })

  it('M-MRTR-15: answers and states on a method without rounds are ignored and not sent on', async () => {
    const { upstream, url } = await start()
    const params = { cursor: 'c', requestState: 'mp1.made.up', inputResponses: { a: { roots: [] } } }
    const { request, answer } = await relayed(upstream, url, list(params), { tools: [] })
    expect(request.message?.params).toEqual({ cursor: 'c' })
    expect(answer.result?.tools).toEqual([])
  })
})

it('M-BASE-23, M-ELI-05: nobody is sent to what icons, links and URLs name', async () => {
  let visits = 0
  const lure = await listening((_request, response) => {
    visits += 1
    response.end()
  })
  onTestFinished(lure.close)
  const src = `${lure.origin}/x`
  const icons = [{ src }]
  const upstream = await startRawUpstream({
    script: (request) => {
      if (request.method !== 'initialize') return false
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: 'n', version: '1', icons, websiteUrl: src },
      }
      const text = JSON.stringify({ jsonrpc: '2.0', id: request.id, result })
      request.status(200, text, { 'content-type': 'application/json', 'mcp-session-id': 's' })
      return true
    },
  })
  const { url, close } = await startGateway(upstream.url)
  const discovered = await rawCall(url, { method: 'server/discover' })
  expect(at(discovered.result, '_meta', 'io.modelcontextprotocol/serverInfo', 'icons')).toEqual(icons)
  await relayed(upstream, url, list({}), {
    tools: [{ name: 't', icons, inputSchema: { type: 'object', $ref: src } }],
  })
  const read = { method: 'resources/read', params: { uri: src }, capabilities: {} }
  await relayed(upstream, url, read, { contents: [{ uri: src, text: '' }] })

  const call = toolCall('any', {}, { capabilities: { elicitation: { url: {} } } })
  const first = startCall(url, call)
  const request = await upstream.method('tools/call')
  const params = { mode: 'url', message: 'm', url: src, elicitationId: 'e' }
  request.say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params })
  const round = await first.answer
  expect(at(round.result, 'inputRequests', 'q', 'params', 'url')).toBe(src)
  const retry = startCall(url, retryOf(call, round, { q: { action: 'accept' } }))
  await upstream.answer('q')
  request.result({ content: [{ type: 'resource_link', uri: src, name: 'l', icons }] })
  await retry.answer
  await close()
  expect(visits).toBe(0)
})
