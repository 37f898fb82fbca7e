import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { heard, type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'

const QUESTION = {
  jsonrpc: '2.0',
  id: 'colour',
  method: 'elicitation/create',
  params: {
    message: 'colour?',
    requestedSchema: {
      type: 'object',
      properties: { answer: { type: 'string', minLength: 2 } },
      required: ['answer'],
    },
  },
}

const DONE = '{"content":[{"type":"text","text":"done"}]}'

/** A call that has been asked one question, with the upstream's side of it. */
async function askedOnce(...set: string[]) {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url, ...set)
  const call = toolCall('any', { a: 1 })
  const first = startCall(url, call)
  const request: RawRequest = await upstream.method('tools/call')
  request.say(QUESTION)
  const round = await first.answer
  expect(round.asks).toBe(true)
  return { upstream, url, call, request, round }
}

const answersUpstream = (upstream: Awaited<ReturnType<typeof startRawUpstream>>) =>
  upstream.all((each) => each.id !== 'heard' && each.message !== undefined && each.method === undefined)

describe('retries', () => {
  it('uses a fit id of the upstream as the key', async () => {
    const { round, request } = await askedOnce()
    expect(keysOf(round)).toEqual(['colour'])
    expect(at(round.result, 'inputRequests', 'colour')).toEqual({
      method: QUESTION.method,
      params: QUESTION.params,
    })
    request.result(DONE)
  })

  it('M-MRTR-09: the same retry sent twice joins; the answer goes upstream once', async () => {
    const { upstream, url, call, request, round } = await askedOnce()
    const one = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('colour')
    const two = startCall(url, retryOf(call, round, answersTo(round)))
    request.result(DONE)
    expect(firstText((await one.answer).result)).toBe('done')
    expect(firstText((await two.answer).result)).toBe('done')
    expect(answersUpstream(upstream)).toHaveLength(1)
    expect(upstream.all((each) => each.method === 'tools/call')).toHaveLength(1)
  })

  it('the same retry after the end gets the same outcome under its own id', async () => {
    const { upstream, url, call, request, round } = await askedOnce()
    const one = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('colour')
    request.result(DONE)
    await one.answer
    const late = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(firstText(late.result)).toBe('done')
    expect(answersUpstream(upstream)).toHaveLength(1)
  })

  it('another answer to an answered round is refused, and does no harm', async () => {
    const { upstream, url, call, request, round } = await askedOnce()
    const one = startCall(url, retryOf(call, round, answersTo(round, 'red')))
    await upstream.answer('colour')
    const other = await rawCall(url, retryOf(call, round, answersTo(round, 'green')))
    expect(other.status).toBe(200)
    expect(other.error?.code).toBe(-32602)
    request.result(DONE)
    expect(firstText((await one.answer).result)).toBe('done')
    expect(answersUpstream(upstream)).toHaveLength(1)
  })

  it.each([
    ['no answers at all', undefined],
    ['unknown keys alone', { 'not-a-key': { action: 'accept', content: { answer: 'no' } } }],
  ])('M-MRTR-12, M-MRTR-13: %s: the same questions at once', async (_name, answers) => {
    const { upstream, url, call, request, round } = await askedOnce()
    const again = await rawCall(url, retryOf(call, round, answers))
    expect(again.asks).toBe(true)
    expect(at(again.result, 'inputRequests')).toEqual(at(round.result, 'inputRequests'))
    expect(answersUpstream(upstream)).toHaveLength(0)
    const end = startCall(url, retryOf(call, again, answersTo(again)))
    expect((await upstream.answer('colour')).message?.result).toEqual({
      action: 'accept',
      content: { answer: 'blue' },
    })
    request.result(DONE)
    expect(firstText((await end.answer).result)).toBe('done')
  })

  it('a result that comes while nobody is connected waits for the retry', async () => {
    const { upstream, url, call, request, round } = await askedOnce()
    request.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'colour' } })
    await heard(upstream, request)
    request.result(DONE)
    const done = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(firstText(done.result)).toBe('done')
    expect(answersUpstream(upstream)).toHaveLength(0)
  })

  it('L-CAN-02: a withdrawn question is not asked again and its answer is swallowed', async () => {
    const { upstream, url, call, request, round } = await askedOnce()
    request.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'colour' } })
    request.say({ ...QUESTION, id: 'second' })
    await heard(upstream, request)
    const again = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(keysOf(again)).toEqual(['second'])
    const end = startCall(url, retryOf(call, again, answersTo(again)))
    await upstream.answer('second')
    request.result(DONE)
    expect(firstText((await end.answer).result)).toBe('done')
    expect(answersUpstream(upstream)).toHaveLength(1)
  })
})
