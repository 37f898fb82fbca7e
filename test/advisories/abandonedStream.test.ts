import { expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { startPlain } from '../fixtures/plainHttp.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

/** http-proxy 1.18 keeps the upstream's stream of every SSE client that leaves. */
it.each([
  ['streamable', { 'mcp-session-id': 's' }],
  ['sse', {}],
] as const)(
  'a client that leaves its event stream takes the upstream’s with it: %s',
  async (transport, headers) => {
    const upstream = await startRawUpstream({ transport })
    const { url, gateway } = await startGateway(upstream.url)
    for (let left = 0; left < 5; left++) {
      const stream = await startPlain(url, { headers })
      const seen = await upstream.next((each) => each.verb === 'GET')
      expect(gateway.counts().sockets).toBeGreaterThan(0)
      stream.leave()
      await seen.closed
    }
  },
)

it('so does one that leaves before the upstream answered, and one in the middle of a body', async () => {
  const upstream = await startRawUpstream({ script: () => true })
  const { url } = await startGateway(upstream.url)
  const leaving = new AbortController()
  const waiting = fetch(url, { signal: leaving.signal }).catch(() => undefined)
  const silent = await upstream.next(() => true)
  leaving.abort()
  await Promise.all([silent.closed, waiting])

  const reading = startPlain(url)
  const busy = await upstream.next(() => true)
  busy.begin({ 'content-type': 'application/octet-stream' })
  const reader = await reading
  busy.write('x')
  await reader.includes('x')
  reader.leave()
  await busy.closed
})
