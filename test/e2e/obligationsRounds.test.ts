import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, createClock } from '../../src/clock.ts'
import { createGateway } from '../../src/gateway.ts'
import { loadOptions } from '../../src/options/load.ts'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText, type Json } from '../fixtures/json.ts'
import { ABLE, answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { heard, startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'
const CANCELLED = 'notifications/cancelled'
const form = (id: string | number): Json => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: 'm', requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } } },
})

/** A call that was asked `question`, with both ends of it. */
async function asked(question: Json, ...set: string[]) {
  const upstream = await startRawUpstream()
  const { url, gateway } = await startGateway(upstream.url, ...set)
  const call = toolCall('any', {}, { id: 'original' })
  const first = startCall(url, call)
  const request = await upstream.method('tools/call')
  request.say(question)
  return { upstream, url, gateway, call, request, round: await first.answer }
}

describe('retries', () => {
  it.each(['original', 7])('M-MRTR-15: may have the id %j, since nothing hangs on ids', async (id) => {
    const { upstream, url, call, request, round } = await asked(form('q'))
    const retry = startCall(url, { ...retryOf(call, round, answersTo(round)), id })
    await upstream.answer('q')
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it('M-MRTR-15: state and answers serve one retry; the call without them is a new one', async () => {
    const { upstream, url, call, request, round } = await asked(form('q'))
    const fresh = startCall(url, call)
    const second = await upstream.method('tools/call')
    expect(second.session).not.toBe(request.session)
    second.say(form('q'))
    expect((await fresh.answer).asks).toBe(true)
    expect(upstream.all((each) => each.id === 'q')).toEqual([])
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    expect((await upstream.answer('q')).session).toBe(request.session)
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it('M-CAN-02: two of them are one call, which is cancelled when the second has left too', async () => {
    const { upstream, url, gateway, call, request, round } = await asked(
      form('q'),
      'routes.0.exchange.graceMs=50',
    )
    const legs = () => expect.poll(() => gateway.counts().legs, { interval: 5 })
    const one = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    const two = startCall(url, retryOf(call, round, answersTo(round)))
    await legs().toBe(2)
    one.leave()
    await legs().toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(upstream.all((each) => each.method === CANCELLED)).toEqual([])
    two.leave()
    expect((await upstream.method(CANCELLED)).message?.params).toMatchObject({ requestId: request.id })
  })
})

describe('cancels that mean nothing', () => {
  it('M-CAN-04: unknown, late or malformed ones of the upstream change nothing', async () => {
    const { upstream, url, call, request, round } = await asked(form('q'))
    for (const params of [{ requestId: 'other' }, { requestId: null }, {}, [], undefined]) {
      request.say({ jsonrpc: '2.0', method: CANCELLED, ...(params && { params }) })
    }
    await heard(upstream, request)
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    request.say({ jsonrpc: '2.0', method: CANCELLED, params: { requestId: 'q' } })
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it('M-CAN-04: those of a client go nowhere, also with the id of a call that runs', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { id: 'mine' }))
    const request = await upstream.method('tools/call')
    for (const params of [{ requestId: 'mine' }, { requestId: 'unknown' }, {}]) {
      const body = JSON.stringify({ jsonrpc: '2.0', method: CANCELLED, params })
      const accepted = await rawCall(url, { method: CANCELLED, body })
      expect([accepted.status, accepted.bytes.length]).toEqual([202, 0])
    }
    request.result(DONE)
    expect(firstText((await call.answer).result)).toBe('done')
    expect(upstream.all((each) => each.method === CANCELLED)).toEqual([])
  })
})

describe('questions', () => {
  it('L-ELI-02, cases 19: only the completion that was asked for lets the call be issued again', async () => {
    const upstream = await startRawUpstream()
    const { url, gateway } = await startGateway(upstream.url)
    const call = toolCall('any', {}, { capabilities: { elicitation: { url: {} } } })
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    const complete = (elicitationId: unknown) =>
      upstream.say(
        { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } },
        request.session,
      )
    const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/a', message: 'm' }]
    request.error({ code: -32042, message: 'needed', data: { elicitations } })
    const round = await first.answer
    const retry = startCall(url, retryOf(call, round, { [keysOf(round)[0] ?? '']: { action: 'accept' } }))
    await expect.poll(() => gateway.counts().legs, { interval: 5 }).toBe(1)
    for (const id of ['unknown', 1, null, undefined]) complete(id)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(upstream.all((each) => each.method === 'tools/call')).toHaveLength(1)
    complete('e1')
    const again = await upstream.method('tools/call')
    complete('e1')
    again.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })

  it('M-SAM-05, L-ELI-03: after sixteen rounds the next question is refused, and the call goes on', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url, 'routes.0.exchange.settleMs=1')
    const call = toolCall('loop')
    let leg = startCall(url, call)
    const request = await upstream.method('tools/call')
    for (let turn = 1; turn <= 16; turn += 1) {
      request.say({ ...form(turn), method: 'sampling/createMessage', params: { maxTokens: 1, messages: [] } })
      const round = await leg.answer
      expect([turn, round.asks]).toEqual([turn, true])
      leg = startCall(url, retryOf(call, round, answersTo(round)))
      await upstream.answer(turn)
    }
    request.say(form('one too many'))
    expect((await upstream.answer('one too many')).message?.error).toMatchObject({ code: -32603 })
    request.result(DONE)
    expect(firstText((await leg.answer).result)).toBe('done')
  })

  it('M-SAM-04: a state holds nothing of what was asked', async () => {
    const question = (text: string) => ({
      ...form('q'),
      method: 'sampling/createMessage',
      params: { maxTokens: 1, messages: [{ role: 'user', content: { type: 'text', text } }] },
    })
    const sizes: number[] = []
    for (const text of ['short', 'long '.repeat(10_000)]) {
      const { round } = await asked(question(text))
      sizes.push(String(at(round.result, 'requestState')).length)
    }
    expect(Math.abs(Number(sizes[0]) - Number(sizes[1]))).toBeLessThan(32)
  })

  it('X-SUB-05: the state of tasks is not told on a call', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { logLevel: 'debug' }))
    const request = await upstream.method('tools/call')
    const params = { taskId: 't', status: 'working', createdAt: '', lastUpdatedAt: '', ttl: null }
    request.say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params })
    request.say({ jsonrpc: '2.0', method: 'notifications/tasks', params })
    request.result(DONE)
    expect((await call.answer).messages).toHaveLength(1)
  })

  it('L-PRG-02, X-PRG-02: whoever waits for a person with a token is told so, rising, up to the answer', async () => {
    const upstream = await startRawUpstream()
    const own = createClock()
    // Fifteen seconds pass in a moment; all else takes its time.
    const clock: Clock = { ...own, after: (ms, act) => own.after(ms === 15_000 ? 20 : ms, act) }
    const flags = { upstream: upstream.url, listen: '127.0.0.1:0', admin: 'off' }
    const gateway = createGateway(loadOptions({ env: {}, flags }), { clock })
    const url = (await gateway.listen()).url('/mcp')
    onTestFinished(async () => expect(await gateway.close()).toMatchObject({ timers: 0 }))
    const call = toolCall('any', {}, { capabilities: ABLE })
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    const plain = form('q')
    const patient = {
      ...plain,
      id: 'w',
      params: { ...Object(plain.params), _meta: { progressToken: 'wait' } },
    }
    request.say(plain)
    request.say(patient)
    const round = await first.answer
    expect(at(round.result, 'inputRequests', 'w', 'params')).not.toHaveProperty('_meta')
    for (const progress of [1, 2, 3]) {
      const told = await upstream.method('notifications/progress')
      expect(told.message?.params).toEqual({ progressToken: 'wait', progress })
      expect(told.session).toBe(request.session)
    }
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('w')
    const count = upstream.all((each) => each.method === 'notifications/progress').length
    await new Promise((resolve) => setTimeout(resolve, 80))
    expect(upstream.all((each) => each.method === 'notifications/progress')).toHaveLength(count)
    request.result(DONE)
    expect(firstText((await retry.answer).result)).toBe('done')
  })
})
