import { expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'
import { answersTo, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'

it('M-MRTR-16: a leg open for holdMs ends with a state alone, and the retry takes the call up again', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url, 'routes.0.exchange.holdMs=300')
  const call = toolCall('any')
  const first = startCall(url, call)
  const request = await upstream.method('tools/call')
  const held = await first.answer
  expect(held.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  expect(held.result).not.toHaveProperty('inputRequests')
  const retry = startCall(url, retryOf(call, held))
  request.result(DONE)
  expect(firstText((await retry.answer).result)).toBe('done')
  expect(upstream.all((each) => each.method === 'tools/call')).toHaveLength(1)
})

it('a leg that waited longer than holdMs for its session is held too', async () => {
  const upstream = await startRawUpstream({
    script: (request) => {
      if (request.method !== 'notifications/initialized') return false
      setTimeout(() => request.status(202), 150)
      return true
    },
  })
  const { url } = await startGateway(upstream.url, 'routes.0.exchange.holdMs=50')
  const call = toolCall('any')
  const held = await rawCall(url, call)
  expect(held.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  const retry = startCall(url, retryOf(call, held))
  const request = await upstream.method('tools/call')
  request.result(DONE)
  expect(firstText((await retry.answer).result)).toBe('done')
  expect(upstream.all((each) => each.method === 'tools/call')).toHaveLength(1)
})

it('the official client follows a held call to its end', async () => {
  const upstream = await startLegacySdk('get')
  const { url } = await startGateway(upstream.url, 'routes.0.exchange.holdMs=50')
  const { client } = await connectOfficial(url)
  const call = client.callTool({ name: 'slow', arguments: { key: 'gate' } })
  await upstream.next((each) => each.what === 'call')
  setTimeout(() => upstream.open('gate'), 200)
  expect(firstText(await call)).toBe('gate done')
  expect(upstream.calls('slow')).toHaveLength(1)
})

it('holdTtlMs: a held call that nobody takes up again is cancelled', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(
    upstream.url,
    'routes.0.exchange.holdMs=50',
    'routes.0.exchange.holdTtlMs=50',
  )
  const call = startCall(url, toolCall('any'))
  const request = await upstream.method('tools/call')
  await call.answer
  const cancelled = await upstream.method('notifications/cancelled')
  expect(cancelled.message?.params).toMatchObject({ requestId: request.id })
})

it('M-MRTR-14: answers on a first leg are kept for the questions whose own key they name', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const call = toolCall('any')
  const kept = { mine: { roots: [] }, 'roots-1': { roots: [] } }
  const first = startCall(url, { ...call, params: { ...call.params, inputResponses: kept } })
  const request = await upstream.method('tools/call')
  expect(request.message?.params).not.toHaveProperty('inputResponses')
  request.say({ jsonrpc: '2.0', id: 'mine', method: 'roots/list' })
  expect((await upstream.answer('mine')).message?.result).toEqual({ roots: [] })
  request.say({ jsonrpc: '2.0', id: 5, method: 'roots/list' })
  const round = await first.answer
  expect(round.asks).toBe(true)
  const retry = startCall(url, retryOf(call, round, answersTo(round)))
  await upstream.answer(5)
  request.result(DONE)
  expect(firstText((await retry.answer).result)).toBe('done')
})
