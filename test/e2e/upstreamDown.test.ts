import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { freePort } from '../fixtures/listening.ts'
import { answersTo, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'
const ECHO = toolCall('echo', { text: 'hi' })

describe.each([
  ['post', '/mcp'],
  ['sse', '/sse'],
] as const)('an upstream that is down, mode %s', (mode, path) => {
  it('M-VER-02: gives 502 with a JSON-RPC error; once it is up the next request works', async () => {
    const port = await freePort()
    const { url } = await startGateway(`http://127.0.0.1:${port}${path}`)
    for (const call of [ECHO, { method: 'server/discover' }, { method: 'tools/list' }]) {
      const refused = await rawCall(url, call)
      expect(refused.status).toBe(502)
      expect(refused.error).toMatchObject({ code: -32603, data: { reason: 'upstream_unreachable' } })
    }
    await startLegacySdk(mode, port)
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('hi')
  })

  it('restarts between two calls and the next call works', async () => {
    const before = await startLegacySdk(mode)
    const { url } = await startGateway(before.url)
    await rawCall(url, ECHO)
    await before.close()
    const after = await startLegacySdk(mode, before.port)
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('hi')
    expect(after.calls('echo')).toHaveLength(1)
  })

  it('dies in the middle of a call, which fails at once and is not sent again', async () => {
    const before = await startLegacySdk(mode)
    const { url } = await startGateway(before.url)
    const call = startCall(url, toolCall('slow', { key: 'never' }))
    await before.next((each) => each.what === 'call')
    await before.close()
    const failed = await call.answer
    expect(failed.status).toBe(502)
    expect(failed.error).toMatchObject({ code: -32603 })
    const after = await startLegacySdk(mode, before.port)
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('hi')
    expect(after.calls('slow')).toHaveLength(0)
  })

  it('dies while a call is suspended; its retry is told', async () => {
    const upstream = await startLegacySdk(mode)
    const { url } = await startGateway(upstream.url)
    const round = await rawCall(url, toolCall('ask'))
    await upstream.close()
    const lost = await rawCall(url, retryOf(toolCall('ask'), round, answersTo(round)))
    expect(lost.status).toBe(200)
    expect(lost.error).toMatchObject({ code: -32602, data: { reason: 'exchange_lost' } })
  })
})

describe('cases 2, 3: a session that the upstream forgot', () => {
  it('is replaced, and the call runs once', async () => {
    const upstream = await startLegacySdk('post')
    const { url } = await startGateway(upstream.url)
    await rawCall(url, ECHO)
    upstream.forget()
    expect(firstText((await rawCall(url, ECHO)).result)).toBe('hi')
    expect(upstream.calls('echo')).toHaveLength(2)
    expect(upstream.sessions.size).toBe(2)
  })

  it.each<[string, (request: RawRequest) => void]>([
    ['404 without a body', (request) => request.status(404)],
    [
      '404 with a JSON-RPC error',
      (request) =>
        request.status(
          404,
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}',
          {
            'content-type': 'application/json',
          },
        ),
    ],
  ])('%s: initialized again once, the call sent again, never in a loop', async (_name, forget) => {
    const forgotten = new Set<string>()
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'POST' || request.session === undefined || !forgotten.has(request.session))
          return false
        forget(request)
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const first = startCall(url, toolCall('one'))
    const one = await upstream.method('tools/call')
    one.result(DONE)
    await first.answer
    forgotten.add(String(one.session))
    const second = startCall(url, toolCall('two'))
    const two = await upstream.next((each) => each.method === 'tools/call' && each.session !== one.session)
    two.result(DONE)
    expect(firstText((await second.answer).result)).toBe('done')
    expect(upstream.sessions).toHaveLength(2)
  })

  it('400 that names the session in its text: a new session, but the call may have run and is not sent again', async () => {
    let forgotten = ''
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'POST' || request.session !== forgotten) return false
        request.status(400, 'Session not found', { 'content-type': 'text/plain' })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const first = startCall(url, toolCall('one'))
    const one = await upstream.method('tools/call')
    one.result(DONE)
    await first.answer
    forgotten = String(one.session)
    const failed = await rawCall(url, toolCall('two'))
    expect(failed.status).toBe(502)
    expect(failed.error).toMatchObject({ data: { reason: 'upstream_closed' } })
    const third = startCall(url, toolCall('three'))
    const three = await upstream.next((each) => each.method === 'tools/call' && each.session !== one.session)
    expect(three.body.toString()).toContain('three')
    three.result(DONE)
    expect(firstText((await third.answer).result)).toBe('done')
    expect(upstream.sessions).toHaveLength(2)
  })

  it('an upstream that forgets every session is no loop', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.method !== 'tools/call') return false
        request.status(404)
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const failed = await rawCall(url, toolCall('any'))
    expect(failed.status).toBe(502)
    expect(upstream.sessions.length).toBeLessThanOrEqual(2)
  })

  it('a plain 400 is not taken for a lost session', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    const text = `{"jsonrpc":"2.0","id":${String(request.id)},"error":{"code":-32602,"message":"bad params"}}`
    request.status(400, text, { 'content-type': 'application/json' })
    const failed = await call.answer
    expect(failed.status).toBe(200)
    expect(failed.error).toMatchObject({ code: -32602, message: 'bad params' })
    expect(upstream.sessions).toHaveLength(1)
  })
})

describe('answers that fail', () => {
  it('cases 23: a stream that ends without the response fails promptly', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.begin()
    request.end()
    const failed = await call.answer
    expect(failed.status).toBe(502)
    expect(failed.error).toMatchObject({ code: -32603, data: { reason: 'upstream_closed' } })
  })

  it('cases 12: an answer that the upstream refuses fails the call promptly', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.id !== 'q') return false
        request.status(400, 'no')
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const call = toolCall('any')
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    request.say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    const round = await first.answer
    const failed = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(failed.error?.code).toBe(-32603)
  })

  it.each([401, 403])('cases 42, A-05: %i passes with its challenge', async (status) => {
    const challenge = 'Bearer error="invalid_token", scope="a b"'
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'POST') return false
        request.status(status, '', { 'www-authenticate': challenge })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const refused = await rawCall(url, ECHO)
    expect(refused.status).toBe(status)
    expect(refused.headers['www-authenticate']).toBe(challenge)
  })

  it('A-05: a 401 to an answer leaves the question pending and the state good', async () => {
    let refuse = true
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.id !== 'q' || !refuse) return false
        refuse = false
        request.status(401, '', { 'www-authenticate': 'Bearer' })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const call = toolCall('any')
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    request.say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    const round = await first.answer
    const refused = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(refused.status).toBe(401)
    await upstream.answer('q')
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })
})
