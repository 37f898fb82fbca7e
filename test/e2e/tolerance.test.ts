import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { frame, type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'
const responseTo = (request: RawRequest): string =>
  `{"jsonrpc":"2.0","id":${String(request.id)},"result":${DONE}}`
const ASKING = '{"jsonrpc":"2.0","id":"q","method":"roots/list"}'

describe('streams that others write', () => {
  it.each<[string, (json: string) => string]>([
    ['CRLF', (json) => `event: message\r\ndata: ${json}\r\n\r\n`],
    ['CR', (json) => `event: message\rdata: ${json}\r\r`],
    ['mixed line ends', (json) => `event: message\r\ndata: ${json}\n\r\n`],
    ['data before event', (json) => `data: ${json}\nevent: message\n\n`],
    ['no event name', (json) => `data: ${json}\n\n`],
    ['no blank after the colon', (json) => `event:message\ndata:${json}\n\n`],
    ['ids, retry and comments', (json) => `: hello\n\nid: 7\nretry: 10\nevent: message\ndata: ${json}\n\n`],
    ['a byte order mark', (json) => `\uFEFFdata: ${json}\n\n`],
    ['an empty priming event', (json) => `id: 0\ndata:\n\ndata: ${json}\n\n`],
    ['events of other names', (json) => `event: heartbeat\ndata: nothing\n\ndata: ${json}\n\n`],
  ])('cases 25, 26: %s, in one piece and byte by byte', async (_name, frameOf) => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    for (const split of [false, true]) {
      const call = startCall(url, toolCall('any'))
      const request = await upstream.method('tools/call')
      request.begin()
      const bytes = Buffer.from(frameOf(responseTo(request)))
      if (!split) request.write(bytes)
      else for (const byte of bytes) request.write(Buffer.from([byte]))
      expect(firstText((await call.answer).result)).toBe('done')
    }
  })

  it('cases 33, L-HTTP-02: notification, ping, question and response in one piece', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.begin()
    const ping = '{"jsonrpc":"2.0","id":"p","method":"ping"}'
    request.write(Buffer.concat([ping, ASKING].map(frame)))
    const round = await call.answer
    expect(keysOf(round)).toHaveLength(1)
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('p')
    await upstream.answer('q')
    request.write(frame(responseTo(request)))
    expect(firstText((await retry.answer).result)).toBe('done')
    // The stream was never ended by the upstream: the proxy lets go of it.
    await request.closed
  })

  it('L-BASE-02, X-ENV-12: an array of messages is taken apart in order', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.begin()
    request.write(frame(`[${ASKING},{"jsonrpc":"2.0","id":"q2","method":"roots/list"}]`))
    const round = await call.answer
    expect(keysOf(round)).toHaveLength(2)
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('q')
    await upstream.answer('q2')
    request.write(frame(`[${responseTo(request)}]`))
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it.each([
    ['null', 'null'],
    ['an empty text', '""'],
    ['another number', '12345'],
  ])('L-HTTP-02, design §4.12: a JSON answer with the id %s belongs to its POST', async (_name, id) => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    const text = `{"jsonrpc":"2.0","id":${id},"result":${DONE}}`
    request.status(200, text, { 'content-type': 'application/json; charset=utf-8' })
    expect(firstText((await call.answer).result)).toBe('done')
  })

  it.each<[string, (request: RawRequest) => void]>([
    ['200 null', (request) => request.status(200, 'null', { 'content-type': 'application/json' })],
    ['202 text', (request) => request.status(202, 'Accepted', { 'content-type': 'text/plain' })],
    ['204', (request) => request.status(204)],
    [
      '200 rubbish stream',
      (request) => request.status(200, 'data: {{{\n\n', { 'content-type': 'text/event-stream' }),
    ],
    ['200 undefined', (request) => request.status(200, 'undefined', { 'content-type': 'application/json' })],
  ])('cases 4: notifications and answers accepted with %s', async (_name, accept) => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'POST' || !(request.method ?? 'notifications/').startsWith('notifications/'))
          return false
        accept(request)
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.say(ASKING)
    const round = await call.answer
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it('cases 30: follows 307 within the origin with body and credentials', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'POST' || request.url !== '/mcp') return false
        request.status(307, '', { location: '/mcp/' })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { authorization: 'Bearer a' }))
    const request = await upstream.next((each) => each.method === 'tools/call' && each.url === '/mcp/')
    expect(request.headers.authorization).toBe('Bearer a')
    request.result(DONE)
    expect(firstText((await call.answer).result)).toBe('done')
  })

  it('never follows a redirect to another origin', async () => {
    const other = await startRawUpstream()
    const upstream = await startRawUpstream({
      script: (request) => {
        request.status(307, '', { location: other.url })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const failed = await rawCall(url, toolCall('any', {}, { authorization: 'Bearer a' }))
    expect(failed.status).toBe(502)
    expect(other.all()).toHaveLength(0)
  })
})

describe('HTTP+SSE servers that others write', () => {
  it('cases 32: the response in the POST body counts; its twin on the stream is ignored', async () => {
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request, self) => {
        if (request.method !== 'tools/call') return false
        request.status(200, responseTo(request), { 'content-type': 'application/json' })
        self.say(responseTo(request), request.session)
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    for (const text of ['one', 'two']) {
      expect(firstText((await rawCall(url, toolCall('any', { text }))).result)).toBe('done')
    }
  })

  it.each([
    ['the same path with a query', (_origin: string) => '?session=s'],
    ['an absolute URL', (origin: string) => `${origin}/message?session=s`],
    ['a relative path', (_origin: string) => 'message?session=s'],
  ])('cases 31: an endpoint that is %s', async (_name, endpointOf) => {
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request, self) => {
        if (request.verb === 'GET') {
          request.begin()
          request.write(
            `: hi\n\nevent: vendor\ndata: x\n\nevent: endpoint\ndata: ${endpointOf(new URL(self.url).origin)}\n\n`,
          )
          stream = request
          return true
        }
        request.status(202)
        const answers: Record<string, string> = {
          initialize:
            '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}',
          'tools/call': DONE,
        }
        const result = answers[request.method ?? '']
        if (result) stream?.write(frame(`{"jsonrpc":"2.0","id":${String(request.id)},"result":${result}}`))
        return true
      },
    })
    let stream: RawRequest | undefined
    const { url } = await startGateway(upstream.url)
    expect(firstText((await rawCall(url, toolCall('any'))).result)).toBe('done')
  })

  it('refuses an endpoint on another origin', async () => {
    const other = await startRawUpstream()
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request) => {
        if (request.verb !== 'GET') return false
        request.begin()
        request.write(`event: endpoint\ndata: ${other.url}\n\n`)
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const failed = await rawCall(url, toolCall('any'))
    expect(failed.status).toBe(502)
    expect(other.all()).toHaveLength(0)
  })

  it('M-HTTP-16: a path without /sse is found out to be the old transport', async () => {
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request) => {
        if (request.verb !== 'POST' || request.url !== '/mcp') return false
        request.status(405)
        return true
      },
    })
    const { url } = await startGateway(upstream.url.replace('/sse', '/mcp'))
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.result(DONE)
    expect(firstText((await call.answer).result)).toBe('done')
  })
})
