import { expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { toolCall } from '../fixtures/rawCall.ts'
import { type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'
import { relayed } from '../fixtures/relayed.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'
const JSON_TYPE = { 'content-type': 'application/json' }
const refusal = (id: unknown, code: number): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'Invalid session' } })

it.each<[string, (request: RawRequest) => void]>([
  ['404 that names a session', (request) => request.status(404, refusal('server-error', -32600), JSON_TYPE)],
  ['404 without a body', (request) => request.status(404)],
  ['400 with a null id', (request) => request.status(400, refusal(null, -32000), JSON_TYPE)],
  ['400 with an id of its own', (request) => request.status(400, refusal('server-error', -32600), JSON_TYPE)],
  ['405', (request) => request.status(405)],
  ['-32601', (request) => request.error({ code: -32601, message: 'Method not found' })],
  ['a result that is none', (request) => request.result({ supportedVersions: ['2025-11-25'] })],
  ['401', (request) => request.status(401)],
  ['503', (request) => request.status(503)],
])('M-VER-07, cases 37: an upstream that answers server/discover with %s is legacy', async (_name, say) => {
  const upstream = await startRawUpstream({
    script: (request) => {
      if (request.method !== 'server/discover') return false
      say(request)
      return true
    },
  })
  const { url } = await startGateway(upstream.url)
  for (const text of ['one', 'two']) {
    const { answer } = await relayed(upstream, url, toolCall('any', { text }), DONE)
    expect(firstText(answer.result)).toBe('done')
  }
  expect(upstream.all((each) => each.method === 'initialize')).toHaveLength(1)
})
