import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { freePort } from '../fixtures/listening.ts'
import { plain, startPlain } from '../fixtures/plainHttp.ts'
import { rawCall, toolCall, VERSION } from '../fixtures/rawCall.ts'
import { type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'

const ERA = 'routes.0.upstream.era'
const ECHO = toolCall('echo', { text: 'hi' })
const DISCOVERED = { resultType: 'complete', supportedVersions: [VERSION], capabilities: { tools: {} } }
const META = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":1.0}'
/** Spelled as no serializer would. */
const CALL = `{ "method":"tools/call","id":"\\u0061", "jsonrpc":"2.0","params":{"Name":"a","name":"a","_meta":${META}}}`
const HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
  'mcp-protocol-version': VERSION,
  'mcp-method': 'tools/call',
  'mcp-name': '=?base64?YQ==?=',
}

/** A modern upstream; `serve` has all but `server/discover`. */
async function start(serve: (request: RawRequest) => void, ...set: string[]) {
  const upstream = await startRawUpstream({
    script(request) {
      if (request.method === 'server/discover') request.result(DISCOVERED)
      else serve(request)
      return true
    },
  })
  return { upstream, ...(await startGateway(upstream.url, ...set)) }
}

const post = (body: string, headers: Record<string, string> = {}) => ({
  method: 'POST' as const,
  headers: { ...HEADERS, ...headers },
  body,
})

const discovers = (each: RawRequest) => each.method === 'server/discover'

describe('M-VER-05: modern clients of a modern upstream', () => {
  it('M-HDR-09: are passed as they are, body and Mcp-* headers, with what the route adds', async () => {
    const { upstream, url } = await start(
      (request) => request.result('{"resultType":"complete"}'),
      'routes.0.upstream.headers={x-fixed: "yes"}',
    )
    await plain(
      url,
      post(CALL, {
        'mcp-param-region': 'eu',
        'mcp-later': 'kept',
        authorization: 'Bearer a',
        traceparent: 'trace',
        cookie: 'no',
        origin: new URL(url).origin,
      }),
    )
    const { headers, body } = await upstream.method('tools/call')
    expect(body.toString()).toBe(CALL)
    expect(headers).toMatchObject({
      ...HEADERS,
      'mcp-param-region': 'eu',
      'mcp-later': 'kept',
      authorization: 'Bearer a',
      traceparent: 'trace',
      'x-fixed': 'yes',
      host: new URL(upstream.url).host,
    })
    expect(headers).not.toHaveProperty('cookie')
    expect(headers).not.toHaveProperty('origin')
    const [asked] = upstream.all(discovers)
    expect(asked?.headers).toMatchObject({ authorization: 'Bearer a', 'x-fixed': 'yes' })
    expect(upstream.all()).toHaveLength(2)
  })

  it.each<[string, number, string, Record<string, string>]>([
    [
      'a round',
      200,
      '{"jsonrpc":"2.0","id":"a", "result":{"resultType":"input_required","requestState":"s"}}',
      {},
    ],
    ['an error in its status', 400, '{"jsonrpc":"2.0","id":"a","error":{"code":-32021,"message":""}}', {}],
    ['no such method', 404, '{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":""}}', {}],
    ['a challenge', 401, '', { 'www-authenticate': 'Bearer resource_metadata="x"' }],
    ['a wait', 429, 'later', { 'retry-after': '7' }],
    ['a failure', 500, 'oops', {}],
    ['rubbish', 200, '{"json', {}],
  ])('%s comes back byte for byte', async (_title, status, body, headers) => {
    const { url } = await start((request) => request.status(status, body, { ...headers, 'X-Own': 'a' }))
    const answer = await plain(url, post(CALL))
    expect([answer.status, answer.body, answer.over]).toEqual([status, body, 'ended'])
    expect(answer.headers).toMatchObject({ ...headers, 'x-own': 'a' })
  })

  it('an event stream passes as it comes, and ends upstream when its client leaves', async () => {
    const { upstream, url } = await start((request) => request.begin())
    const answer = await startPlain(url, post(CALL))
    const call = await upstream.method('tools/call')
    const events = ': hi\r\n\r\nid: 7\ndata: {"jsonrpc":"2.0",\ndata: "method":"x"}\n\n'
    call.write(events)
    await answer.includes('"x"}\n\n')
    expect(answer.text()).toBe(events)
    answer.leave()
    await call.closed
  })

  it('the state of a round is the upstream own', async () => {
    const { upstream, url } = await start((request) => request.result('{"resultType":"complete"}'))
    const retry = CALL.replace('"_meta"', '"requestState":"mp1.otherkey.x","inputResponses":{},"_meta"')
    expect((await plain(url, post(retry))).status).toBe(200)
    expect((await upstream.method('tools/call')).body.toString()).toBe(retry)
  })

  it('M-HTTP-05: notifications too', async () => {
    const { upstream, url } = await start((request) => request.status(202))
    const note = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    expect((await plain(url, post(note))).status).toBe(202)
    expect((await upstream.method('notifications/cancelled')).body.toString()).toBe(note)
  })

  it('what the guard refuses does not get there', async () => {
    const { upstream, url } = await start((request) => request.status(200))
    expect((await plain(url, post(CALL, { origin: 'http://evil.example' }))).status).toBe(403)
    expect((await plain(url, post(CALL, { 'content-type': 'text/plain' }))).status).toBe(415)
    expect(upstream.all()).toEqual([])
  })

  it('M-VER-06: where clients of earlier revisions are refused, they still are', async () => {
    const { upstream, url } = await start((request) => request.result('{}'), 'routes.0.legacyClients=refuse')
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const refused = await plain(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ping,
    })
    expect([refused.status, at(JSON.parse(refused.body), 'error', 'code')]).toEqual([400, -32022])
    expect((await plain(url, { headers: { accept: 'text/event-stream' } })).status).toBe(405)
    expect(upstream.all()).toEqual([])
    expect((await plain(url, post(CALL))).status).toBe(200)
  })

  it('an upstream that went away is named in an error with the id, and asked first when it is back', async () => {
    const { upstream, url } = await start((request) => request.result('{"resultType":"complete"}'))
    await plain(url, post(CALL))
    await upstream.close()
    const answer = await plain(url, post(CALL))
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body)).toMatchObject({ id: 'a', error: { code: -32603 } })
    const back = await startRawUpstream({
      port: upstream.port,
      script(request) {
        if (request.method !== 'tools/call') return false
        request.result({ content: [{ type: 'text', text: 'legacy' }] })
        return true
      },
    })
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('legacy')
    expect(back.all().map((each) => each.method)[0]).toBe('server/discover')
  })
})

describe('M-VER-07: who is asked', () => {
  it('once, by the first modern request, whoever else comes meanwhile', async () => {
    const { upstream, url } = await start((request) => request.result('{"resultType":"complete"}'))
    await Promise.all([plain(url, post(CALL)), plain(url, post(CALL)), plain(url, post(CALL))])
    await plain(url, post(CALL))
    expect(upstream.all().map((each) => each.method)).toEqual([
      'server/discover',
      ...Array(4).fill('tools/call'),
    ])
  })

  it('nobody, where the era is set', async () => {
    const modern = await start((request) => request.result('{"resultType":"complete"}'), `${ERA}=modern`)
    expect((await plain(modern.url, post(CALL))).status).toBe(200)
    expect(modern.upstream.all(discovers)).toEqual([])
    const legacy = await startRawUpstream()
    const { url } = await startGateway(legacy.url, `${ERA}=legacy`)
    expect((await rawCall(url, { method: 'server/discover' })).status).toBe(200)
    expect(legacy.all(discovers)).toEqual([])
  })

  it('not by clients of earlier revisions', async () => {
    const { upstream, url } = await start((request) => request.result('{}'))
    await plain(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    })
    expect(upstream.all(discovers)).toEqual([])
  })
})

describe('case 37: a legacy upstream, however it takes the question', () => {
  it('one that answers 401 to everything has its challenge passed', async () => {
    const challenge = 'Bearer resource_metadata="https://as.example"'
    const upstream = await startRawUpstream({
      script(request) {
        if (request.headers.authorization === 'Bearer good') return false
        request.status(401, '', { 'www-authenticate': challenge })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const refused = await rawCall(url, ECHO)
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, challenge])
    const call = rawCall(url, { ...ECHO, authorization: 'Bearer good' })
    ;(await upstream.method('tools/call')).result({ content: [{ type: 'text', text: 'in' }] })
    expect(firstText((await call).result)).toBe('in')
  })

  it.each<[string, (request: RawRequest) => void]>([
    ['fails', (request) => request.status(500, 'oops')],
    ['is busy', (request) => request.status(429)],
    ['hangs up', (request) => request.kill()],
    ['says nothing', () => undefined],
    [
      'has it with an id of its own',
      (request) =>
        request.status(400, '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":""}}'),
    ],
  ])('one that %s works', async (_title, discover) => {
    const upstream = await startRawUpstream({
      script(request) {
        if (discovers(request)) discover(request)
        else if (request.method === 'tools/call') request.result({ content: [{ type: 'text', text: 'in' }] })
        else return false
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('in')
    const before = performance.now()
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('in')
    expect(performance.now() - before).toBeLessThan(1_500)
  })

  it('one that is down is 502, as ever', async () => {
    const { url } = await startGateway(`http://127.0.0.1:${await freePort()}/mcp`)
    expect((await rawCall(url, ECHO)).status).toBe(502)
  })
})
