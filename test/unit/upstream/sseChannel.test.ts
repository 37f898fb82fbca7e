import { describe, expect, it } from 'vitest'
import { frame, type RawRequest, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { connect } from './connect.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const responseTo = (id: unknown, result: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result })

async function start(script?: (request: RawRequest) => boolean | undefined) {
  const raw = await startRawUpstream({ transport: 'sse', ...(script === undefined ? {} : { script }) })
  const ours = connect(raw.url)
  const { session, release } = await ours.lease()
  return { raw, session, release, ...ours }
}

describe('HTTP+SSE', () => {
  it.each<[string, (origin: string) => string]>([
    ['an absolute path', () => '/message?session=raw-session-1'],
    ['a relative path', () => 'message?session=raw-session-1'],
    ['a query', () => '?session=raw-session-1'],
    ['an absolute URL', (origin) => `${origin}/message?session=raw-session-1`],
  ])(
    'L-SSE-01: posts nothing before the endpoint, which is %s; a second one is ignored',
    async (_name, endpoint) => {
      const raw = await startRawUpstream({
        transport: 'sse',
        script(request, self) {
          if (request.verb === 'POST') {
            request.status(202)
            const result = { protocolVersion: '2024-11-05', capabilities: {} }
            if (request.method === 'initialize') opened?.write(frame(responseTo(request.id, result)))
            return true
          }
          opened = request
          request.begin()
          request.write(': hello\r\n\r\nevent: odd\r\ndata: x\r\n\r\n')
          setTimeout(() => {
            beforeEndpoint = self.all((each) => each.verb === 'POST').length
            const path = endpoint(new URL(self.url).origin)
            request.write(`event: endpoint\r\ndata: ${path}\r\n\r\nevent: endpoint\r\ndata: /other\r\n\r\n`)
          }, 20)
          return true
        },
      })
      let opened: RawRequest | undefined
      let beforeEndpoint = -1
      const { lease } = connect(raw.url)
      await lease()
      expect(beforeEndpoint).toBe(0)
      const posts = raw.all((each) => each.verb === 'POST').map((each) => new URL(each.url, raw.url).search)
      expect(new Set(posts)).toEqual(new Set(['?session=raw-session-1']))
    },
  )

  it('refuses an endpoint on another origin, and sends nothing there', async () => {
    const other = await startRawUpstream()
    const raw = await startRawUpstream({
      transport: 'sse',
      script(request) {
        request.begin()
        request.write(`event: endpoint\ndata: ${other.url}\n\n`)
        return true
      },
    })
    const { lease } = connect(raw.url)
    await expect(lease()).rejects.toMatchObject({ reason: 'upstream_protocol' })
    expect(other.all()).toHaveLength(0)
    await raw.all()[0]?.closed
  })

  it.each<[string, (request: RawRequest, say: (text: string) => void) => void]>([
    ['in the POST’s body', (request) => request.status(200, responseTo(request.id), JSON_TYPE)],
    [
      'in a stream that is the POST’s body',
      (request) => {
        request.status(200, frame(responseTo(request.id)), { 'content-type': 'text/event-stream' })
      },
    ],
    [
      'in the body and on the stream',
      (request, say) => {
        request.status(200, responseTo(request.id), JSON_TYPE)
        say(responseTo(request.id, { twin: true }))
      },
    ],
    [
      'on the stream, while the POST’s body is cut',
      (request, say) => {
        request.status(200, responseTo(request.id).slice(0, 10), { ...JSON_TYPE, 'content-length': '500' })
        setTimeout(() => request.kill(), 5)
        setTimeout(() => say(responseTo(request.id)), 30)
      },
    ],
    [
      'on the stream, while the POST’s body makes no sense',
      (request, say) => {
        request.status(200, '{"status":"queued"}', JSON_TYPE)
        setTimeout(() => say(responseTo(request.id)), 30)
      },
    ],
    [
      'on the stream before the POST is accepted',
      (request, say) => {
        say(responseTo(request.id))
        setTimeout(() => request.status(202), 20)
      },
    ],
  ])('cases 32: takes a response %s', async (_name, answer) => {
    const { raw, session, call } = await start((request) => request.method === 'tools/call')
    for (let count = 0; count < 2; count += 1) {
      const sent = call(session)
      const request = await raw.method('tools/call')
      answer(request, (text) => raw.say(text, request.session))
      expect(await sent.response()).toMatchObject({ id: sent.id })
    }
    expect(session.retired()).toBe(false)
  })

  it('a POST that is refused fails the call', async () => {
    const { raw, session, call } = await start((request) => request.method === 'tools/call')
    const sent = call(session)
    ;(await raw.method('tools/call')).status(422)
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_protocol' }, lost: false })
    const second = call(session)
    ;(await raw.method('tools/call')).status(404)
    expect(await second.failure()).toMatchObject({ notRun: true, lost: true })
  })

  it('L-SSE-03: the stream’s end is the session’s, and every call’s', async () => {
    const { raw, session, call, upstream } = await start((request) => request.method === 'tools/call')
    const sent = call(session)
    await raw.method('tools/call')
    raw.stream()?.end()
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_closed' }, lost: true })
    expect(upstream.counts()).toMatchObject({ leased: 0 })
  })

  it('L-HTTP-10: posts carry the negotiated version', async () => {
    const { raw } = await start()
    const [initialized] = raw.all((each) => each.method === 'notifications/initialized')
    expect(initialized?.headers['mcp-protocol-version']).toBe('2025-11-25')
    expect(raw.all((each) => each.method === 'initialize')[0]?.headers).not.toHaveProperty(
      'mcp-protocol-version',
    )
  })

  it('closing lets go of everything that is open', async () => {
    const { raw, session, call, close } = await start((request) => request.method === 'tools/call')
    call(session)
    const request = await raw.method('tools/call')
    const stream = raw.stream()
    await close()
    await Promise.all([request.closed, stream?.closed])
    expect(raw.all((each) => each.verb === 'DELETE')).toHaveLength(0)
  })
})
