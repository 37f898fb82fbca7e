import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText, type Json } from '../fixtures/json.ts'
import { bodyOf, type Call, rawCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const ECHO = toolCall('echo', { text: 'hi' })
const META = 'io.modelcontextprotocol/'

async function start(...set: string[]) {
  const upstream = await startRawUpstream({
    script: (request) => {
      if (request.method !== 'tools/call') return false
      request.result('{"content":[{"type":"text","text":"hi"}]}')
      return true
    },
  })
  return { upstream, ...(await startGateway(upstream.url, 'routes.0.upstream.era=legacy', ...set)) }
}

/** The call's body with its `_meta` changed. */
function withMeta(change: (meta: Json) => void): string {
  const body = bodyOf(ECHO)
  change(Object(Object(body.params)._meta))
  return JSON.stringify(body)
}

const withId = (id: string): string => JSON.stringify({ ...bodyOf(ECHO), id: 'ID' }).replace('"ID"', id)

describe('bad input is refused at the door and the gateway goes on', () => {
  it.each<[string, number, number | undefined, Partial<Call>]>([
    ['M-BASE-01: text that is no JSON', 400, -32700, { body: '{"jsonrpc":' }],
    ['M-BASE-01: bytes that are no UTF-8', 400, -32700, { body: Buffer.from('{"a":"\xff"}', 'latin1') }],
    ['an empty body', 400, -32700, { body: '' }],
    ['M-HTTP-04: a batch', 400, -32600, { body: `[${JSON.stringify(bodyOf(ECHO))}]` }],
    ['M-HTTP-04: a response', 400, -32600, { body: '{"jsonrpc":"2.0","id":1,"result":{}}' }],
    ['M-BASE-01: a null id', 400, -32600, { body: withId('null') }],
    ['M-BASE-01: a boolean id', 400, -32600, { body: withId('true') }],
    ['M-BASE-01: a fractional id', 400, -32600, { body: withId('1.5') }],
    ['a member twice', 400, -32600, { body: JSON.stringify(bodyOf(ECHO)).replace('{', '{"method":"x",') }],
    [
      'M-BASE-14: no _meta',
      400,
      -32602,
      { body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}' },
    ],
    ['M-BASE-14: no params', 400, -32602, { body: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}' }],
    [
      'M-BASE-14: no capabilities',
      400,
      -32602,
      { body: withMeta((meta) => delete meta[`${META}clientCapabilities`]) },
    ],
    [
      'M-BASE-14: capabilities that are no object',
      400,
      -32602,
      { body: withMeta((meta) => Object.assign(meta, { [`${META}clientCapabilities`]: 'all' })) },
    ],
    ['M-LOG-02: an unknown log level', 400, -32602, { logLevel: 'shouting' }],
    ['M-HDR-01: another version header', 400, -32020, { headers: { 'mcp-protocol-version': '2027-01-01' } }],
    ['M-HDR-02, M-HDR-10: another method header', 400, -32020, { headers: { 'mcp-method': 'tools/list' } }],
    ['M-HDR-02: no method header', 400, -32020, { headers: { 'mcp-method': undefined } }],
    ['M-HDR-03: another name header', 400, -32020, { headers: { 'mcp-name': 'ECHO' } }],
    ['M-HDR-03: no name header', 400, -32020, { headers: { 'mcp-name': undefined } }],
    ['M-HDR-04: a broken base64 name', 400, -32020, { headers: { 'mcp-name': '=?base64?!!!?=' } }],
    [
      'M-VER-01: a version that nobody speaks',
      400,
      -32022,
      {
        headers: { 'mcp-protocol-version': '2099-01-01' },
        body: withMeta((meta) => Object.assign(meta, { [`${META}protocolVersion`]: '2099-01-01' })),
      },
    ],
    ['M-HTTP-12: an unknown method', 404, -32601, { method: 'tools/unknown' }],
    ['M-VER-05, X-CAP-16: ping with a modern envelope', 404, -32601, { method: 'ping', params: {} }],
    ['M-VER-05: initialize with a modern envelope', 404, -32601, { method: 'initialize', params: {} }],
    ['M-VER-05: logging/setLevel', 404, -32601, { method: 'logging/setLevel', params: { level: 'info' } }],
    ['T-12: tasks/list', 404, -32601, { method: 'tasks/list', params: {} }],
    ['a content type of its own', 415, undefined, { headers: { 'content-type': 'text/plain' } }],
    ['a content encoding', 415, undefined, { headers: { 'content-encoding': 'gzip' } }],
    ['M-HTTP-06: an Accept that takes neither form', 406, undefined, { headers: { accept: 'text/html' } }],
    ['M-HTTP-02: a foreign Origin', 403, undefined, { headers: { origin: 'http://evil.example' } }],
    ['M-HTTP-02: the Origin null', 403, undefined, { headers: { origin: 'null' } }],
    [
      'M-HTTP-02: an Origin that looks like ours',
      403,
      undefined,
      { headers: { origin: 'http://localhost.evil.example' } },
    ],
    ['a foreign Host', 403, undefined, { headers: { host: 'evil.example' } }],
  ])('%s', async (_name, status, code, change) => {
    const { upstream, url } = await start()
    const refused = await rawCall(url, { ...ECHO, ...change })
    expect(refused.status).toBe(status)
    if (code !== undefined) expect(refused.error?.code).toBe(code)
    expect(upstream.all()).toHaveLength(0)
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('hi')
  })

  it('M-VER-01: names what it speaks and what was asked', async () => {
    const { url } = await start()
    const version = '2099-01-01'
    const body = withMeta((meta) => Object.assign(meta, { [`${META}protocolVersion`]: version }))
    const refused = await rawCall(url, { ...ECHO, body, headers: { 'mcp-protocol-version': version } })
    expect(refused.error?.data).toEqual({ supported: ['2026-07-28'], requested: version })
  })

  it('a body over the limit is 413', async () => {
    const { url } = await start('http.maxBodyBytes=65536')
    const refused = await rawCall(url, toolCall('echo', { text: 'x'.repeat(70_000) }))
    expect(refused.status).toBe(413)
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('hi')
  })

  it('cases 38, M-HDR-04: a name outside ASCII comes in base64', async () => {
    const { url } = await start()
    const name = 'größe'
    const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`
    const answer = await rawCall(url, toolCall(name, {}, { headers: { 'mcp-name': encoded } }))
    expect(firstText(answer.result)).toBe('hi')
  })

  it('M-BASE-02: the id comes back byte for byte', async () => {
    const { url } = await start()
    for (const id of ['"1"', '1', '-7', '9007199254740993', '"\\u0061\\/"', '""']) {
      const answer = await rawCall(url, { ...ECHO, body: withId(id) })
      expect(answer.bytes.toString()).toContain(`"id":${id}`)
    }
  })

  it('M-HTTP-06: a client that takes JSON alone gets JSON', async () => {
    const { url } = await start()
    const answer = await rawCall(url, { ...ECHO, headers: { accept: 'application/json' } })
    expect(answer.headers['content-type']).toBe('application/json')
    expect(firstText(answer.result)).toBe('hi')
  })

  it('M-HTTP-05: a notification is accepted without a body and goes nowhere', async () => {
    const { upstream, url } = await start()
    const body = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    const answer = await rawCall(url, {
      ...ECHO,
      body,
      headers: { 'mcp-method': undefined, 'mcp-name': undefined },
    })
    expect(answer.status).toBe(202)
    expect(answer.bytes).toHaveLength(0)
    expect(upstream.all()).toHaveLength(0)
  })

  it.each(['GET', 'DELETE', 'PUT'])('M-HTTP-13: without legacy clients %s is 405', async (verb) => {
    const { url } = await start('routes.0.legacyClients=refuse')
    const answer = await fetch(url, { method: verb })
    await answer.arrayBuffer()
    expect(answer.status).toBe(405)
  })

  it('another path is 404', async () => {
    const { origin } = await start()
    expect((await rawCall(`${origin}/other`, ECHO)).status).toBe(404)
  })

  it.each([
    ['Host', 'Host: 127.0.0.1'],
    ['Mcp-Method', 'Mcp-Method: tools/list'],
    ['Authorization', 'Authorization: Bearer b'],
    ['Content-Length', 'Content-Length: 1'],
  ])('a second %s is refused', async (_name, line) => {
    const { upstream, url } = await start()
    const body = JSON.stringify(bodyOf(ECHO))
    const { host, port } = new URL(url)
    const lines = [
      'POST /mcp HTTP/1.1',
      `Host: ${host}`,
      'Accept: application/json, text/event-stream',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Mcp-Protocol-Version: 2026-07-28',
      'Mcp-Method: tools/call',
      'Mcp-Name: echo',
      'Authorization: Bearer a',
      line,
      'Connection: close',
    ]
    const socket = connect(Number(port), '127.0.0.1')
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(upstream.all()).toHaveLength(0)
  })
})
