import { expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at } from '../fixtures/json.ts'
import { startCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

it.each([
  ['knows the method', -32602, true],
  ['does not know the method', -32601, false],
])('X-CAP-04: a server of 2024-11-05 that %s', async (_name, code, declared) => {
  const upstream = await startRawUpstream({
    version: '2024-11-05',
    transport: 'sse',
    capabilities: { prompts: {} },
  })
  const { url } = await startGateway(upstream.url)
  for (let i = 0; i < 2; i += 1) {
    const discover = startCall(url, { method: 'server/discover', params: {} })
    // Asked once a session.
    if (i === 0) (await upstream.method('completion/complete')).error({ code, message: 'no' })
    const { result } = await discover.answer
    expect(at(result, 'capabilities', 'completions')).toEqual(declared ? {} : undefined)
    expect(at(result, 'capabilities', 'prompts')).toEqual({})
  }
  expect(upstream.all((each) => each.method === 'completion/complete')).toHaveLength(1)
})
