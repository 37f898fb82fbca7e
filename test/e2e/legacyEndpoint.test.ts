import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { type Plain, plain, startPlain } from '../fixtures/plainHttp.ts'
import { type RawUpstream, startRawUpstream } from '../fixtures/rawUpstream.ts'

const KEYS = `requestState.keys=["${'ab'.repeat(32)}"]`
const NOTE = '{"jsonrpc":"2.0","method":"notifications/any"}'
const note: Plain = { method: 'POST', headers: { 'content-type': 'application/json' }, body: NOTE }

/** An upstream whose GET gives these bytes, where `ORIGIN` stands for its own. */
function naming(stream: string, headers: Record<string, string> = {}): Promise<RawUpstream> {
  return startRawUpstream({
    transport: 'sse',
    script: (request, upstream) => {
      if (request.verb !== 'GET') return false
      request.begin(headers)
      request.write(stream.replaceAll('ORIGIN', new URL(upstream.url).origin))
      return true
    },
  })
}

/** The endpoint that a client of `url` is told, and the stream it came on. */
async function listen(url: string) {
  const stream = await startPlain(url, { headers: { accept: 'text/event-stream' } })
  await stream.includes('endpoint=')
  await stream.includes('\n\n')
  const [, endpoint = ''] = /^data: ?(.*)$/m.exec(stream.text()) ?? []
  return { stream, endpoint, at: new URL(endpoint, url).href }
}

describe('case 31: the endpoint event of HTTP+SSE', () => {
  it.each([
    ['a path', '/messages/?session_id=x&y=%20z', '/messages/?session_id=x&y=%20z'],
    ['a relative path', 'message?s=1', '/message?s=1'],
    ['a path with a prefix', '/some/prefix/messages', '/some/prefix/messages'],
    ['the path of the stream', '/sse?session=1', '/sse?session=1'],
    ['a query alone', '?session=1', '/sse?session=1'],
    ['an address of its own', 'ORIGIN/messages?s=1#part', '/messages?s=1'],
  ])('leads through us: %s', async (_name, named, reached) => {
    const upstream = await naming(`: first\n\nevent: endpoint\ndata: ${named}\n\n: last\n\n`)
    const { url, origin } = await startGateway(upstream.url)
    const { stream, endpoint, at } = await listen(url)
    expect(endpoint).toMatch(/^\/mcp\?endpoint=mp1\.[\w.-]+$/)
    await stream.includes(': last\n\n')
    expect(stream.text()).toBe(`: first\n\nevent: endpoint\ndata: ${endpoint}\n\n: last\n\n`)
    expect(at.startsWith(origin)).toBe(true)
    expect((await plain(at, note)).status).toBe(202)
    const seen = await upstream.method('notifications/any')
    expect([seen.url, seen.body.toString()]).toEqual([reached, NOTE])
  })

  it.each([
    'http://elsewhere.example/messages',
    '//elsewhere.example/m',
    'ORIGIN0/m',
    'file:///m',
    'http://[',
  ])('on another origin it cuts the stream: %s', async (named) => {
    const upstream = await naming(`event: endpoint\ndata: ${named}\n\ndata: more\n\n`)
    const { url } = await startGateway(upstream.url)
    const stream = await startPlain(url)
    expect(await stream.over).toBe('cut')
    expect(stream.text()).toBe('')
    await upstream.all()[0]?.closed
  })

  it('is built with publicUrl', async () => {
    const upstream = await naming('event: endpoint\ndata: /m\n\n')
    const { url } = await startGateway(upstream.url, 'routes.0.publicUrl=https://mcp.example/a/mcp')
    expect((await listen(url)).endpoint).toMatch(/^https:\/\/mcp\.example\/a\/mcp\?endpoint=mp1\./)
  })

  it('is resolved at the end of a redirect of the stream', async () => {
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request) => {
        if (request.url !== '/sse') return false
        request.status(307, '', { location: '/deep/sse' })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const { at } = await listen(url)
    await plain(at, note)
    expect((await upstream.method('notifications/any')).url).toBe('/message?session=raw-session-1')
  })

  it('asks for no compression, and drops a length that would be wrong', async () => {
    const bytes = 'event: endpoint\ndata: /m\n\n'
    const upstream = await naming(bytes, { 'content-length': String(bytes.length) })
    const { url } = await startGateway(upstream.url)
    const stream = await startPlain(url, { headers: { 'accept-encoding': 'gzip' } })
    expect(await stream.over).toBe('ended')
    expect(stream.text()).toContain('endpoint=mp1.')
    expect(upstream.all()[0]?.headers['accept-encoding']).toBe('identity')
  })

  it('transport streamable-http has none', async () => {
    const upstream = await naming('event: endpoint\ndata: /m\n\n')
    const { url } = await startGateway(upstream.url, 'routes.0.upstream.transport=streamable-http')
    const stream = await startPlain(url)
    await stream.includes('\n\n')
    expect(stream.text()).toBe('event: endpoint\ndata: /m\n\n')
  })
})

describe('no client reaches another path of the upstream', () => {
  it('with an endpoint that is not ours, changed, doubled or in the clear', async () => {
    const upstream = await naming('event: endpoint\ndata: /m\n\n')
    const { url } = await startGateway(upstream.url)
    const { at } = await listen(url)
    const changed = at.slice(0, -1) + (at.endsWith('A') ? 'B' : 'A')
    const [, sealed] = at.split('endpoint=')
    for (const bad of [
      changed,
      `${at}&endpoint=${sealed}`,
      `${url}?endpoint=`,
      `${url}?endpoint=/admin`,
      `${url}?endpoint=${encodeURIComponent(new URL('/admin', upstream.url).href)}`,
    ]) {
      const answer = await plain(bad, note)
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.body)).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } })
    }
    expect(upstream.all().map((each) => each.verb)).toEqual(['GET'])
  })

  it('with other words in the query, or an endpoint where none belongs', async () => {
    const upstream = await naming('event: endpoint\ndata: /m\n\n')
    const { url } = await startGateway(upstream.url)
    const { at } = await listen(url)
    await plain(`${at}&access_token=t&path=/admin`, note)
    expect((await upstream.method('notifications/any')).url).toBe('/m')
    await plain(at, { method: 'DELETE' })
    expect((await upstream.next((each) => each.verb === 'DELETE')).url).toBe('/sse')
  })

  it('with an endpoint of another route or another upstream, though the key is the same', async () => {
    const upstream = await naming('event: endpoint\ndata: /m\n\n')
    const one = await startGateway(upstream.url, KEYS)
    const two = await startGateway(upstream.url, KEYS)
    const other = await startGateway((await startRawUpstream({ transport: 'sse' })).url, KEYS)
    const route = await startGateway(upstream.url, KEYS, 'routes.0.path=/other')
    const { endpoint } = await listen(one.url)
    const { search } = new URL(endpoint, one.url)
    expect((await plain(`${two.origin}/mcp${search}`, note)).status).toBe(202)
    expect((await plain(`${other.origin}/mcp${search}`, note)).status).toBe(404)
    expect((await plain(`${route.origin}/other${search}`, note)).status).toBe(404)
  })
})
