import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { answersTo, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const FORM = {
  message: 'colour?',
  requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
}
const QUESTION = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: FORM }
const DONE = '{"content":[{"type":"text","text":"done"}]}'
const CANCELLED = 'notifications/cancelled'

describe.each(['streamable', 'sse'] as const)('hanging up, upstream on %s', (transport) => {
  async function start(...set: string[]) {
    const upstream = await startRawUpstream({ transport })
    const { url } = await startGateway(upstream.url, ...set)
    return { upstream, url }
  }

  async function suspended(...set: string[]) {
    const { upstream, url } = await start(...set)
    const call = toolCall('any')
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    request.say(QUESTION)
    return { upstream, url, call, request, round: await first.answer }
  }

  it('cases 21, X-CAN-01, L-HTTP-03: a first leg that leaves is a cancel with the upstream id, and the session ends', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any', {}, { id: 'mine' }))
    const request = await upstream.method('tools/call')
    call.leave()
    const cancelled = await upstream.method(CANCELLED)
    expect(cancelled.message?.params).toMatchObject({ requestId: request.id })
    expect(cancelled.session).toBe(request.session)
    if (transport === 'streamable') {
      const end = await upstream.next((each) => each.verb === 'DELETE')
      expect(end.session).toBe(request.session)
    } else {
      await upstream.stream(request.session)?.closed
    }
    // The next caller gets a session of its own.
    const next = startCall(url, toolCall('any'))
    const again = await upstream.method('tools/call')
    expect(again.session).not.toBe(request.session)
    again.result(DONE)
    expect(firstText((await next.answer).result)).toBe('done')
  })

  it('a first leg that leaves in mid-stream is a cancel too', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('any', {}, { progressToken: 'p' }))
    const request = await upstream.method('tools/call')
    const progressToken = Object(Object(request.message?.params)._meta).progressToken
    const params = { progress: 1, progressToken }
    request.say({ jsonrpc: '2.0', method: 'notifications/progress', params })
    await call.next()
    call.leave()
    expect((await upstream.method(CANCELLED)).message?.params).toMatchObject({ requestId: request.id })
  })

  it('cases 22: leaving after input_required is no cancel', async () => {
    const { upstream, url, call, request, round } = await suspended()
    const other = startCall(url, toolCall('other'))
    const second = await upstream.method('tools/call')
    second.result(DONE)
    await other.answer
    expect(upstream.all((each) => each.method === CANCELLED)).toHaveLength(0)
    const end = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    expect(firstText((await end.answer).result)).toBe('done')
  })

  it('a retry that leaves may come back within its grace', async () => {
    const { upstream, url, call, request, round } = await suspended('routes.0.exchange.graceMs=10000')
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    retry.leave()
    const again = startCall(url, retryOf(call, round, answersTo(round)))
    request.result(DONE)
    expect(firstText((await again.answer).result)).toBe('done')
    expect(upstream.all((each) => each.method === CANCELLED)).toHaveLength(0)
  })

  it('M-CAN-02: a retry that leaves for good is a cancel after its grace; a later repeat is told so', async () => {
    const { upstream, url, call, request, round } = await suspended('routes.0.exchange.graceMs=50')
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    retry.leave()
    expect((await upstream.method(CANCELLED)).message?.params).toMatchObject({ requestId: request.id })
    const late = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(late.error).toMatchObject({ code: -32602, data: { reason: 'exchange_lost' } })
  })

  it('cases 16, X-ANS-07, M-MRTR-10: when nobody comes back the question is cancelled, then the call', async () => {
    const { upstream, url, call, request, round } = await suspended('routes.0.exchange.inputTtlMs=100')
    expect((await upstream.answer('q')).message?.result).toEqual({ action: 'cancel' })
    const cancelled = await upstream.method(CANCELLED)
    expect(cancelled.message?.params).toMatchObject({ requestId: request.id })
    const late = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(late.status).toBe(200)
    expect(late.error?.code).toBe(-32602)
  })

  it.each([
    ['sampling/createMessage', { maxTokens: 1, messages: [] }, -1],
    ['roots/list', undefined, -32603],
  ])('X-ANS-07: an abandoned %s gets its error', async (method, params, code) => {
    const { upstream, url } = await start('routes.0.exchange.inputTtlMs=100')
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.say({ jsonrpc: '2.0', id: 'q', method, ...(params && { params }) })
    expect((await call.answer).asks).toBe(true)
    expect((await upstream.answer('q')).message?.error).toMatchObject({ code })
    await upstream.method(CANCELLED)
  })
})
