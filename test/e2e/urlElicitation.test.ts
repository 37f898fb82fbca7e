import { expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { ABLE, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'

it('cases 19, X-ERR-02, X-ERR-05: -32042 is a round of URL requests, and the call is issued again after it', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const call = toolCall('any', {}, { capabilities: { ...ABLE, elicitation: { form: {}, url: {} } } })
  const first = startCall(url, call)
  const request = await upstream.method('tools/call')
  const elicitations = [
    { mode: 'url', elicitationId: 'e1', url: 'https://example.com/a', message: 'open it' },
  ]
  request.error({ code: -32042, message: 'needed', data: { elicitations } })
  const round = await first.answer
  const [key = ''] = keysOf(round)
  expect(at(round.result, 'inputRequests', key)).toEqual({
    method: 'elicitation/create',
    params: { mode: 'url', url: 'https://example.com/a', message: 'open it' },
  })
  const retry = startCall(url, retryOf(call, round, { [key]: { action: 'accept' } }))
  const done = {
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: { elicitationId: 'e1' },
  }
  upstream.say(done, request.session)
  const again = await upstream.next((each) => each.method === 'tools/call', 10_000)
  again.result(DONE)
  expect(firstText((await retry.answer).result)).toBe('done')
})

it('X-ERR-05: a declined URL round is not issued again', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const call = toolCall('any', {}, { capabilities: { elicitation: { url: {} } } })
  const first = startCall(url, call)
  const request = await upstream.method('tools/call')
  const elicitations = [
    { mode: 'url', elicitationId: 'e1', url: 'https://example.com/a', message: 'open it' },
  ]
  request.error({ code: -32042, message: 'needed', data: { elicitations } })
  const round = await first.answer
  const declined = await rawCall(
    url,
    retryOf(call, round, { [keysOf(round)[0] ?? '']: { action: 'decline' } }),
  )
  expect(declined.error).toMatchObject({ code: -32603, data: { reason: 'declined' } })
  expect(upstream.all((each) => each.method === 'tools/call')).toHaveLength(1)
})

it('X-ERR-03: the same for a client without URL mode is -32021', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const call = startCall(url, toolCall('any'))
  const elicitations = [
    { mode: 'url', elicitationId: 'e1', url: 'https://example.com/a', message: 'open it' },
  ]
  ;(await upstream.method('tools/call')).error({ code: -32042, message: 'needed', data: { elicitations } })
  const refused = await call.answer
  expect(refused.status).toBe(400)
  expect(refused.error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { elicitation: { url: {} } } },
  })
})
