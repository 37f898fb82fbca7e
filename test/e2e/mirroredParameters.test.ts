import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at } from '../fixtures/json.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'
import { answersTo, type Call, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { type RawUpstream, startRawUpstream } from '../fixtures/rawUpstream.ts'

const TOOL = {
  name: 'query',
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
}
const MISMATCH = { code: -32020, message: expect.stringContaining('Mcp-Param-Region') }

const listTools: Call = { method: 'tools/list' }
const query = (region: string | undefined, header: string | undefined, more: Partial<Call> = {}): Call =>
  toolCall('query', { region }, { headers: { 'mcp-param-region': header }, capabilities: {}, ...more })

describe('parameters that travel in headers too', () => {
  /** A server that has the one tool, on the second page of its list, and answers every call. */
  async function start() {
    const upstream = await startRawUpstream({
      script(request) {
        if (request.method === 'tools/list') {
          const second = at(request.message, 'params', 'cursor') === 'second'
          request.result(second ? { tools: [TOOL] } : { tools: [], nextCursor: 'second' })
        } else if (request.method === 'tools/call') request.result({ content: [] })
        else return undefined
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    return { upstream, url }
  }

  const count = (upstream: RawUpstream, method: string): number =>
    upstream.all((each) => each.method === method).length

  it('M-HDR-05: a call is held against what its client was told', async () => {
    const { upstream, url } = await start()
    await rawCall(url, listTools)
    await rawCall(url, { ...listTools, params: { cursor: 'second' } })
    for (const header of [undefined, 'us-west2', '=?base64?dXMtd2VzdDE?=']) {
      const refused = await rawCall(url, query('us-west1', header))
      expect(refused.status).toBe(400)
      expect(refused.error).toMatchObject(MISMATCH)
    }
    expect(count(upstream, 'tools/call')).toBe(0)
    expect((await rawCall(url, query('us-west1', 'us-west1'))).status).toBe(200)
    expect((await rawCall(url, query(undefined, undefined))).status).toBe(200)
    expect(count(upstream, 'tools/list')).toBe(2)
  })

  it('M-HDR-05: the list is asked for, once, where only the headers tell that there is one', async () => {
    const { upstream, url } = await start()
    expect((await rawCall(url, query('us-west1', 'us-west2'))).error).toMatchObject(MISMATCH)
    expect((await rawCall(url, query('us-west1', 'us-west1'))).status).toBe(200)
    expect(count(upstream, 'tools/list')).toBe(2)
    expect(count(upstream, 'tools/call')).toBe(1)
  })

  it('a call without such headers costs no list', async () => {
    const { upstream, url } = await start()
    expect((await rawCall(url, query('us-west1', undefined))).status).toBe(200)
    expect(count(upstream, 'tools/list')).toBe(0)
  })

  it('M-HDR-09: unknown ones are ignored, and none goes upstream', async () => {
    const { upstream, url } = await start()
    const headers = { 'mcp-param-region': 'us-west1', 'mcp-param-other': 'any' }
    expect((await rawCall(url, query('us-west1', undefined, { headers }))).status).toBe(200)
    const names = upstream.all().flatMap((each) => Object.keys(each.headers))
    expect(names.filter((name) => name.startsWith('mcp-param'))).toEqual([])
  })

  it('a mirrored parameter must not occur twice', async () => {
    const { upstream, url } = await start()
    const call = query('us-west1', 'us-west1')
    const body = '{"region":"us-west1","region":"us-east1"}'
    const meta =
      '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":${body},"_meta":${meta}}}`
    const refused = await rawCall(url, { ...call, body: text })
    expect([refused.status, refused.error?.code]).toEqual([400, -32600])
    expect(count(upstream, 'tools/call')).toBe(0)
  })

  it('a list that cannot be had is no reason to refuse the call', async () => {
    const upstream = await startRawUpstream({
      script(request) {
        if (request.method === 'tools/list') request.error({ code: -32603, message: 'out of order' })
        else if (request.method === 'tools/call') request.result({ content: [] })
        else return undefined
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    expect((await rawCall(url, query('us-west1', 'us-west2'))).status).toBe(200)
  })

  it('M-HDR-05: a retry is held against them like any request, and the round stays open', async () => {
    const { upstream, url } = await startAsking()
    const call = query('us-west1', 'us-west1', { capabilities: { elicitation: {} } })
    await rawCall(url, { ...listTools, capabilities: { elicitation: {} } })
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    const form = { type: 'object', properties: { answer: { type: 'string' } } }
    request.say({
      jsonrpc: '2.0',
      id: 1,
      method: 'elicitation/create',
      params: { message: 'sure?', requestedSchema: form },
    })
    const round = await first.answer
    const retry = retryOf(call, round, answersTo(round))
    const refused = await rawCall(url, { ...retry, headers: { 'mcp-param-region': 'us-west2' } })
    expect([refused.status, refused.error]).toMatchObject([400, MISMATCH])
    const second = startCall(url, retry)
    await upstream.answer(1)
    request.result({ content: [] })
    expect((await second.answer).result?.resultType).toBe('complete')
  })

  it('the official client mirrors what it was told, whatever the value', async () => {
    const upstream = await startRawUpstream({
      script(request) {
        if (request.method === 'tools/list') request.result({ tools: [TOOL] })
        else if (request.method === 'tools/call') request.result({ content: [] })
        else return undefined
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const { client } = await connectOfficial(url)
    await client.listTools()
    for (const region of ['us-west1', ' padded ', 'Hello, 世界', '=?base64?x?=', '', 'line\nbreak']) {
      await client.callTool({ name: 'query', arguments: { region } })
      const call = await upstream.method('tools/call')
      expect(at(call.message, 'params', 'arguments')).toEqual({ region })
    }
  })
})

/** A server that has the one tool and leaves its calls to the test. */
async function startAsking() {
  const upstream = await startRawUpstream({
    script(request) {
      if (request.method !== 'tools/list') return undefined
      request.result({ tools: [TOOL] })
      return true
    },
  })
  const { url } = await startGateway(upstream.url)
  return { upstream, url }
}
