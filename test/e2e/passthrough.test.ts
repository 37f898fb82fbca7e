import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { freePort } from '../fixtures/listening.ts'
import { type Plain, plain, startPlain } from '../fixtures/plainHttp.ts'
import { type RawUpstreamOptions, startRawUpstream } from '../fixtures/rawUpstream.ts'

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
const post = (body: string | Buffer, headers: Record<string, string> = {}): Plain => ({
  method: 'POST',
  headers: { ...JSON_HEADERS, ...headers },
  body,
})
const NOTE = '{"jsonrpc":"2.0","method":"notifications/any"}'
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

async function start(options: RawUpstreamOptions = {}, ...set: string[]) {
  const upstream = await startRawUpstream(options)
  return { upstream, ...(await startGateway(upstream.url, ...set)) }
}

describe('a POST of an earlier revision', () => {
  it.each([
    [
      'a request',
      `{ "id":9007199254740993,"jsonrpc":"2.0", "method":"tools/call","params":{"a":1.0,"é":"\\u00e9"}}`,
    ],
    ['a request with members in two cases', PING.replace('{', '{"Method":"x","ID":7,')],
    ['an answer', '{"jsonrpc":"2.0","id":"q","result":{ "action" : "cancel" }}'],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'],
    ['a batch of 2025-03-26', `[${PING}, ${PING}]`],
  ])('passes byte for byte: %s', async (_name, body) => {
    const { upstream, url } = await start({
      script: (request) => {
        request.status(207, 'any\r\nbytes', { 'content-type': 'text/plain' })
        return true
      },
    })
    const answer = await plain(url, post(body))
    const [seen, ...more] = upstream.all()
    expect([seen?.verb, seen?.url, seen?.body.toString(), more]).toEqual(['POST', '/mcp', body, []])
    expect(seen?.headers['content-length']).toBe(String(Buffer.byteLength(body)))
    expect(seen?.headers).not.toHaveProperty('transfer-encoding')
    expect([answer.status, answer.body]).toEqual([207, 'any\r\nbytes'])
  })

  it('its answer streams, byte for byte, while it comes', async () => {
    const { upstream, url } = await start()
    const answering = startPlain(url, post('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'))
    const request = await upstream.method('tools/call')
    request.begin()
    const answer = await answering
    expect(answer.headers['content-type']).toBe('text/event-stream')
    for (const part of [
      ': hi\r\n',
      'id: 7\rretry: 5\r\r',
      'event: endpoint\ndata: /x\n\n',
      'data: unended',
    ]) {
      request.write(part)
      await answer.includes(part)
    }
    request.end()
    expect(await answer.over).toBe('ended')
    expect(answer.text()).toBe(': hi\r\nid: 7\rretry: 5\r\revent: endpoint\ndata: /x\n\ndata: unended')
  })

  it.each([400, 401, 404, 429, 500])('status %d and its headers pass', async (status) => {
    const { url } = await start({
      script: (request) => {
        request.status(status, 'no', { 'www-authenticate': 'Bearer realm="x"', 'retry-after': '7' })
        return true
      },
    })
    const answer = await plain(url, post(PING))
    expect(answer).toMatchObject({
      status,
      body: 'no',
      headers: { 'www-authenticate': 'Bearer realm="x"', 'retry-after': '7' },
    })
  })

  it('case 27: a body over the limit is 413 and does not reach the upstream', async () => {
    const { upstream, url } = await start({}, 'http.maxBodyBytes=4096')
    const answer = await plain(url, post(JSON.stringify({ jsonrpc: '2.0', method: 'x'.repeat(5000) })))
    expect(answer.status).toBe(413)
    expect(upstream.all()).toHaveLength(0)
  })

  it.each([
    ['is no JSON', '{"jsonrpc":', -32700],
    ['has a member twice', PING.replace('{', '{"id":2,'), -32600],
  ])('one that %s is refused without an id', async (_name, body, code) => {
    const { upstream, url } = await start()
    const answer = await plain(url, post(body))
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toEqual({ jsonrpc: '2.0', error: { code, message: expect.any(String) } })
    expect(upstream.all()).toHaveLength(0)
  })

  it('M-VER-05: a modern envelope is modern, whatever the method', async () => {
    const { upstream, url } = await start({}, 'routes.0.upstream.era=legacy')
    const meta = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'
    const answer = await plain(
      url,
      post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${meta}}}`),
    )
    expect(answer.status).toBe(400)
    expect(upstream.all()).toHaveLength(0)
  })

  it('case 30: a redirect within the origin is followed with its body, another one passes', async () => {
    const { upstream, url } = await start({
      script: (request) => {
        if (request.url === '/mcp') request.status(307, '', { location: '/mcp/' })
        else request.status(308, '', { location: 'http://elsewhere.example/' })
        return true
      },
    })
    const answer = await plain(url, post(PING, { authorization: 'Bearer a' }))
    expect([answer.status, answer.headers.location]).toEqual([308, 'http://elsewhere.example/'])
    expect(
      upstream.all().map((each) => [each.url, each.body.toString(), each.headers.authorization]),
    ).toEqual(['/mcp', '/mcp/'].map((path) => [path, PING, 'Bearer a']))
  })

  it('case 30: redirects that lead in a circle pass in the end', async () => {
    const { upstream, url } = await start({
      script: (request) => {
        request.status(307, '', { location: '/mcp' })
        return true
      },
    })
    expect((await plain(url, post(PING))).status).toBe(307)
    expect(upstream.all()).toHaveLength(4)
  })
})

describe('headers', () => {
  it('case 41: to the upstream go those of the protocol and those that are listed', async () => {
    const { upstream, url } = await start(
      {},
      'routes.0.upstream.forwardHeaders=[authorization, x-tenant]',
      'routes.0.upstream.headers={X-Key: fixed}',
    )
    const mcp = {
      'mcp-session-id': 's',
      'mcp-protocol-version': '2025-06-18',
      'mcp-anything': 'a',
      'last-event-id': 'e/7',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      authorization: 'Bearer a',
      'x-tenant': 't',
      'accept-language': 'de',
    }
    const dropped = {
      cookie: 'c=1',
      origin: 'http://localhost:6274',
      'x-key': 'client',
      'x-forwarded-for': '1.2.3.4',
      forwarded: 'for=1.2.3.4',
      'x-other': 'o',
      'proxy-authorization': 'Basic x',
      te: 'trailers',
    }
    await plain(url, post(NOTE, { ...mcp, ...dropped }))
    const { headers } = await upstream.method('notifications/any')
    expect(headers).toMatchObject({ ...mcp, ...JSON_HEADERS, 'x-key': 'fixed' })
    for (const name of Object.keys(dropped)) if (name !== 'x-key') expect(headers).not.toHaveProperty(name)
    expect(Object.keys(headers).filter((name) => name.startsWith('x-'))).toEqual(['x-tenant', 'x-key'])
  })

  it('what Connection names goes no further, either way', async () => {
    const { upstream, url } = await start({
      script: (request) => {
        request.status(200, 'ok', {
          connection: 'keep-alive, X-Hop',
          'keep-alive': 'timeout=77',
          'x-hop': '1',
          'X-Kept': 'é',
        })
        return true
      },
    })
    const answer = await plain(
      url,
      post(PING, { connection: 'close, Mcp-Session-Id', 'mcp-session-id': 's' }),
    )
    expect(upstream.all()[0]?.headers).not.toHaveProperty('mcp-session-id')
    expect(answer.headers).not.toHaveProperty('x-hop')
    expect(answer.headers['keep-alive']).not.toBe('timeout=77')
    expect(answer.rawHeaders).toContain('X-Kept')
  })

  it('case 43: the Host is that of the URL as written, its path and query are the upstream’s', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(`http://localhost:${upstream.port}/a/b?key=v`)
    await plain(`${url}?access_token=secret&other=1`, post(NOTE))
    const seen = await upstream.method('notifications/any')
    expect([seen.headers.host, seen.url]).toEqual([`localhost:${upstream.port}`, '/a/b?key=v'])
  })

  it.each(['GET', 'DELETE'] as const)('A-08: no token of our query goes upstream with %s', async (method) => {
    const { upstream, url } = await start()
    await startPlain(`${url}?access_token=secret`, { method, headers: { 'mcp-session-id': 's' } })
    const seen = await upstream.next((each) => each.verb === method)
    expect(seen.url).toBe('/mcp')
    expect(JSON.stringify(seen.headers)).not.toContain('secret')
  })
})

describe('GET and DELETE', () => {
  it('M-HTTP-13: a GET stream passes with session and Last-Event-ID, its head at once', async () => {
    const { upstream, url } = await start()
    const stream = await startPlain(url, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': 's', 'last-event-id': 'e7' },
    })
    const seen = await upstream.next((each) => each.verb === 'GET')
    expect(seen.headers).toMatchObject({ 'mcp-session-id': 's', 'last-event-id': 'e7' })
    const bytes = ': k\r\nid: e8\rdata: 1\r\revent: endpoint\ndata: /other\n\n'
    seen.write(bytes)
    await stream.includes('/other\n\n')
    expect(stream.text()).toBe(bytes)
  })

  it('cases 28, 29: what the upstream says to a GET passes', async () => {
    for (const status of [400, 404, 405, 409, 501]) {
      const { url } = await start({
        script: (request) => {
          request.status(status, 'none', { allow: 'POST' })
          return true
        },
      })
      expect(await plain(url)).toMatchObject({ status, body: 'none', headers: { allow: 'POST' } })
    }
  })

  it('DELETE passes with its session', async () => {
    const { upstream, url } = await start()
    const answer = await plain(url, { method: 'DELETE', headers: { 'mcp-session-id': 's' } })
    expect(answer.status).toBe(200)
    expect((await upstream.next((each) => each.verb === 'DELETE')).session).toBe('s')
  })

  it.each([
    ['Host', { host: 'evil.example' }, 403],
    ['Origin', { origin: 'http://evil.example' }, 403],
    ['Origin', { origin: 'null' }, 403],
    ['Content-Encoding', { 'content-encoding': 'gzip' }, 415],
  ])('M-HTTP-02: the guard stands before them: %s', async (_name, headers, status) => {
    const { upstream, url } = await start()
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await plain(url, { method, headers })
      expect(answer.status).toBe(status)
      expect(JSON.parse(answer.body)).not.toHaveProperty('id')
    }
    expect(upstream.all()).toHaveLength(0)
  })
})

describe('legacyClients: refuse', () => {
  it('M-VER-06, M-HTTP-13, M-HTTP-15: says what is served, and 405 to GET and DELETE', async () => {
    const { upstream, url } = await start({}, 'routes.0.legacyClients=refuse')
    const params =
      '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}'
    const answer = await plain(url, post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`))
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({
      id: 0,
      error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2025-06-18' } },
    })
    expect((await plain(url)).status).toBe(405)
    expect((await plain(url, { method: 'DELETE' })).status).toBe(405)
    expect(upstream.all()).toHaveLength(0)
  })
})

describe('an upstream that cannot be reached', () => {
  it.each([
    ['POST', post(PING)],
    ['GET', {}],
    ['DELETE', { method: 'DELETE' as const }],
  ])('%s is 502 with an error without id; once it is up it works', async (_verb, what) => {
    const port = await freePort()
    const { url } = await startGateway(`http://127.0.0.1:${port}/mcp`)
    const answer = await plain(url, what)
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body)).toEqual({
      jsonrpc: '2.0',
      error: { code: -32603, message: expect.any(String), data: { reason: 'upstream_unreachable' } },
    })
    await startRawUpstream({
      port,
      script: (request) => {
        request.status(204)
        return true
      },
    })
    expect((await plain(url, what)).status).toBe(204)
  })

  it('and one that hangs up without an answer', async () => {
    const { url } = await start({
      script: (request) => {
        request.kill()
        return true
      },
    })
    const answer = await plain(url, post(PING))
    expect([answer.status, JSON.parse(answer.body).error.data]).toEqual([502, { reason: 'upstream_closed' }])
  })
})

describe('the end', () => {
  it('draining: a running call finishes, answers pass, nothing new begins, streams end', async () => {
    const { upstream, url, gateway } = await start()
    const stream = await startPlain(url, { headers: { 'mcp-session-id': 's' } })
    const calling = plain(url, post('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'))
    const call = await upstream.method('tools/call')
    const drained = gateway.drain()
    expect((await plain(url, post(PING))).status).toBe(503)
    expect((await plain(url)).status).toBe(503)
    expect((await plain(url, post('{"jsonrpc":"2.0","id":"q","result":{}}'))).status).toBe(202)
    call.result({})
    expect((await calling).status).toBe(200)
    expect(await stream.over).toBe('ended')
    expect((await drained).sockets).toBe(0)
  })

  it('closing: streams end, calls are told, and the upstream sees both go', async () => {
    const { upstream, url, close } = await start()
    const stream = await startPlain(url, { headers: { 'mcp-session-id': 's' } })
    const calling = plain(url, post('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'))
    const call = await upstream.method('tools/call')
    await close()
    expect(await stream.over).toBe('ended')
    expect((await calling).status).toBe(503)
    await Promise.all([call.closed, upstream.stream('s')?.closed])
  })
})
