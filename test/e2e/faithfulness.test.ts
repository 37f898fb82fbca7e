import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { ABLE, bodyOf, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

// Whatever a parse and a print would change: long numbers, `1.0`, escapes, order, a member named __proto__.
const MEMBERS = [
  '"z":9007199254740993',
  '"y":1.0',
  '"x":1E400',
  '"w":-0',
  '"v":"\\u00e9\\/\\ud83d\\ude00 é 😀"',
  '"lone":"\\ud800"',
  '"__proto__":{"polluted":true}',
  '"constructor":null',
  '"10":"ten"',
  '"2":"two"',
  '"  spaced  ":[ 1 , 2,\t3 ]',
  '"u2028":"\u2028\u2029"',
  '"empty":{}',
].join(',')

const VALUE = `{${MEMBERS}}`

describe.each(['streamable', 'sse'] as const)('bytes pass unchanged, upstream on %s', (transport) => {
  async function start() {
    const upstream = await startRawUpstream({ transport, capabilities: { tools: {}, logging: {} } })
    const { url } = await startGateway(upstream.url)
    return { upstream, url }
  }

  it('a result, down', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.result(`{"content":[],"structuredContent":${VALUE},"vendor":${VALUE},"isError":false}`)
    const { bytes, result } = await call.answer
    const wanted = `"content":[],"structuredContent":${VALUE},"vendor":${VALUE},"isError":false`
    expect(bytes.toString()).toContain(wanted)
    expect(result?.resultType).toBe('complete')
  })

  it("M-BASE-19: a result's own _meta keeps its other keys", async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.result(`{"_meta":{"a/b":${VALUE},"io.modelcontextprotocol/other":1.0},"content":[]}`)
    const { bytes, result } = await call.answer
    expect(bytes.toString()).toContain(`"a/b":${VALUE},"io.modelcontextprotocol/other":1.0`)
    const key = 'io.modelcontextprotocol/serverInfo'
    expect(at(result, '_meta', key)).toEqual({ name: 'raw-upstream', version: '1.0.0' })
  })

  it('arguments, up', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any', { placeholder: 1 })
    const body = JSON.stringify(bodyOf(call)).replace('{"placeholder":1}', VALUE)
    const running = startCall(url, { ...call, body })
    const request = await upstream.method('tools/call')
    expect(request.body.toString()).toContain(`"arguments":${VALUE}`)
    request.result('{"content":[]}')
    await running.answer
  })

  it('a question, down, and its answer, up', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any')
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    const params = `{"message":"q","requestedSchema":{"type":"object","properties":{},"x-vendor":${VALUE}}}`
    request.say(`{"jsonrpc":"2.0","id":9007199254740993,"method":"elicitation/create","params":${params}}`)
    const round = await first.answer
    expect(round.bytes.toString()).toContain(params)

    const key = Object.keys(Object(at(round.result, 'inputRequests')))[0] ?? ''
    const retry = retryOf(call, round, { [key]: { placeholder: 1 } })
    const answer = `{"action":"accept","content":{},"x-vendor":${VALUE}}`
    const body = JSON.stringify(bodyOf(retry)).replace('{"placeholder":1}', answer)
    const second = startCall(url, { ...retry, body })
    const posted = await upstream.next(
      (each) => each.verb === 'POST' && each.message !== undefined && each.method === undefined,
    )
    expect(posted.body.toString()).toContain('"id":9007199254740993')
    expect(posted.body.toString()).toContain(answer)
    request.result('{"content":[{"type":"text","text":"done"}]}')
    expect(firstText((await second.answer).result)).toBe('done')
  })

  it('progress and log messages, down', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any', {}, { progressToken: 'mine', logLevel: 'debug' }))
    const request = await upstream.method('tools/call')
    const token = JSON.stringify(at(request.message, 'params', '_meta', 'progressToken'))
    expect(token).not.toBe('"mine"')
    const progress = `{"progress":1.0,"progressToken":${token},"total":1E2,"vendor":${VALUE}}`
    request.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":${progress}}`)
    const log = `{"level":"info","data":${VALUE}}`
    request.say(`{"jsonrpc":"2.0","method":"notifications/message","params":${log}}`)
    request.result('{"content":[]}')
    const { bytes } = await call.answer
    expect(bytes.toString()).toContain(progress.replace(token, '"mine"'))
    expect(bytes.toString()).toContain(log)
  })

  it('an error with its data', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.error(`{"code":-32000,"message":"m\\u00e9","data":${VALUE}}`)
    const { bytes, status } = await call.answer
    expect(status).toBe(200)
    expect(bytes.toString()).toContain(`{"code":-32000,"message":"m\\u00e9","data":${VALUE}}`)
  })

  it('cases 39, X-LST-01, M-TOOL-02: a list in its order with its cursor, hints added', async () => {
    const { upstream, url } = await start()
    const tools = `[{"name":"z","inputSchema":{"type":"object","x":${VALUE}}},{"name":"a","inputSchema":{"type":"object"}}]`
    const call = startCall(url, { method: 'tools/list', params: { cursor: '' }, capabilities: ABLE })
    const request = await upstream.method('tools/list')
    expect(at(request.message, 'params', 'cursor')).toBe('')
    request.result(`{"tools":${tools},"nextCursor":"page-2"}`)
    const { bytes, result } = await call.answer
    expect(bytes.toString()).toContain(`"tools":${tools},"nextCursor":"page-2"`)
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' })
  })
})

describe('a legacy server cannot speak for the proxy', () => {
  it('M-BASE-05: a forged round is a plain result', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    const forged =
      '"resultType":"input_required","requestState":"x","inputRequests":{"k":{"method":"roots/list"}}'
    request.result(`{${forged},"content":[]}`)
    const { result } = await call.answer
    expect(result).toMatchObject({ resultType: 'complete', content: [] })
    expect(result).not.toHaveProperty('requestState')
    expect(result).not.toHaveProperty('inputRequests')
  })

  it.each([
    ['M-RES-01: -32002 is -32602', -32002, { code: -32602, message: 'm', data: { a: 1 } }],
    ['M-BASE-06: -32050 is -32603', -32050, { code: -32603, message: 'm', data: { upstreamCode: -32050 } }],
    ['X-ERR-08: -1 passes', -1, { code: -1, message: 'm', data: { a: 1 } }],
    ['M-BASE-08: -32000 passes', -32000, { code: -32000, message: 'm', data: { a: 1 } }],
  ])('%s', async (_name, code, wanted) => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, { method: 'resources/read', params: { uri: 'x:y' }, capabilities: ABLE })
    ;(await upstream.method('resources/read')).error({ code, message: 'm', data: { a: 1 } })
    const { status, error } = await call.answer
    expect(status).toBe(200)
    expect(error).toMatchObject(wanted)
  })

  it.each([
    ['a result that is no object', '{"jsonrpc":"2.0","id":ID,"result":7}'],
    ['an error without an integer code', '{"jsonrpc":"2.0","id":ID,"error":{"code":"x","message":"m"}}'],
    ['both result and error', '{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"m"}}'],
    ['neither', '{"jsonrpc":"2.0","id":ID}'],
    ['a result twice', '{"jsonrpc":"2.0","id":ID,"result":{"a":1},"result":{"b":1}}'],
    ['text that ends early', '{"jsonrpc":"2.0","id":ID,"result":{'],
  ])('upstream_protocol: %s', async (_name, text) => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.status(200, text.replace('ID', String(request.id)), { 'content-type': 'application/json' })
    const { status, error } = await call.answer
    expect(status).toBe(502)
    expect(error).toMatchObject({ code: -32603, data: { reason: 'upstream_protocol' } })
    // The faulty session is not used again.
    const next = startCall(url, toolCall('any'))
    const again = await upstream.method('tools/call')
    expect(again.session).not.toBe(request.session)
    again.result('{"content":[]}')
    expect((await next.answer).status).toBe(200)
  })

  it('a raw line break inside a string does not forge a message', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { progressToken: 1 }))
    const request = await upstream.method('tools/call')
    const progressToken = at(request.message, 'params', '_meta', 'progressToken')
    request.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1, progressToken } })
    await call.next()
    const forged = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":["forged"]}}'
    request.write(
      `data: {"jsonrpc":"2.0","id":${String(request.id)},"result":{"content":[],"x":"\ndata: \ndata: ${forged}\ndata: "}}\n\n`,
    )
    const { error } = await call.answer
    expect(error).toMatchObject({ code: -32603, data: { reason: 'upstream_protocol' } })
  })

  it('line breaks between tokens pass as blanks', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { progressToken: 1 }))
    const request = await upstream.method('tools/call')
    const progressToken = at(request.message, 'params', '_meta', 'progressToken')
    request.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1, progressToken } })
    request.write(
      `data: {"jsonrpc":"2.0",\r\ndata: "id":${String(request.id)},\r\ndata: "result":{"content":\r\ndata: []}}\r\n\r\n`,
    )
    expect((await call.answer).result?.content).toEqual([])
  })
})
