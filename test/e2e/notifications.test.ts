import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { answersTo, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { heard, type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'

const MODES = ['post', 'get', 'json', 'sse'] as const

function progress(request: RawRequest, value: number) {
  const progressToken = at(request.message, 'params', '_meta', 'progressToken')
  return { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: value, progressToken } }
}

const values = (messages: readonly unknown[]) => messages.map((each) => at(each, 'params', 'progress'))

describe.each(MODES)('notifications of an SDK v1 server, mode %s', (mode) => {
  async function start() {
    const upstream = await startLegacySdk(mode)
    return { upstream, ...(await startGateway(upstream.url)) }
  }

  it.each(['mine', 7])(
    'M-PRG-01: progress comes under the token %j, at once and in order',
    async (progressToken) => {
      const { upstream, url } = await start()
      const call = startCall(url, toolCall('slow', { key: 'k', steps: 3 }, { progressToken }))
      const messages = [await call.next(), await call.next(), await call.next()]
      expect(values(messages)).toEqual([1, 2, 3])
      for (const message of messages) expect(at(message, 'params', 'progressToken')).toBe(progressToken)
      upstream.open('k')
      const answer = await call.answer
      expect(answer.headers['content-type']).toBe('text/event-stream')
      expect(firstText(answer.result)).toBe('k done')
    },
  )

  it('M-PRG-01: none without a token, and a plain JSON answer', async () => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('slow', { key: 'k', steps: 3 }))
    await upstream.next((each) => each.what === 'call')
    upstream.open('k')
    const answer = await call.answer
    expect(answer.notifications).toEqual([])
    expect(answer.headers['content-type']).toBe('application/json')
    expect(at(upstream.calls('slow')[0]?.more, 'meta', 'progressToken')).toBeUndefined()
  })

  it.each([
    ['debug', ['debug', 'info', 'error']],
    ['info', ['info', 'error']],
    ['emergency', []],
    [undefined, []],
  ] as const)('M-LOG-01, cases 45: log messages for the level %s are %j', async (logLevel, wanted) => {
    const { upstream, url } = await start()
    const call = startCall(url, toolCall('log', { key: 'k' }, { ...(logLevel && { logLevel }) }))
    // Messages and the result may ride different streams: the result waits until the former were seen.
    for (const _level of wanted) await call.next()
    upstream.open('k')
    const answer = await call.answer
    expect(firstText(answer.result)).toBe('logged')
    expect(answer.notifications.map((each) => at(each, 'params', 'level'))).toEqual(wanted)
  })
})

describe.each(['streamable', 'sse'] as const)('notifications between rounds, upstream on %s', (transport) => {
  async function asked() {
    const upstream = await startRawUpstream({ transport, capabilities: { tools: {}, logging: {} } })
    const { url } = await startGateway(upstream.url)
    const call = toolCall('any', {}, { progressToken: 'first', logLevel: 'info' })
    const leg = startCall(url, call)
    const request = await upstream.method('tools/call')
    request.say(progress(request, 1))
    request.say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    const round = await leg.answer
    expect(values(round.notifications)).toEqual([1])
    request.say(progress(request, 2))
    request.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'kept' } })
    await heard(upstream, request)
    return { upstream, url, call, request, round }
  }

  it('M-PRG-03: are kept and come under the token of the retry', async () => {
    const { upstream, url, call, request, round } = await asked()
    const retry = startCall(url, retryOf({ ...call, progressToken: 2 }, round, answersTo(round)))
    await upstream.answer('q')
    request.say(progress(request, 3))
    request.result(DONE)
    const { notifications } = await retry.answer
    const heardProgress = notifications.filter((each) => each.method === 'notifications/progress')
    expect(values(heardProgress)).toEqual([2, 3])
    for (const each of heardProgress) expect(at(each, 'params', 'progressToken')).toBe(2)
    const logs = notifications.filter((each) => each.method === 'notifications/message')
    expect(logs.map((each) => at(each, 'params', 'data'))).toEqual(['kept'])
  })

  it('are dropped for a retry that asks for neither', async () => {
    const { upstream, url, request, round } = await asked()
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('q')
    request.say(progress(request, 3))
    request.result(DONE)
    expect((await retry.answer).notifications).toEqual([])
  })
})

describe('what is nobody business of the client', () => {
  it('M-PRG-02: progress that does not rise is dropped', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { progressToken: 'p' }))
    const request = await upstream.method('tools/call')
    for (const value of [1, 1, 0.5, 2, 1.5, 3]) request.say(progress(request, value))
    request.result(DONE)
    expect(values((await call.answer).notifications)).toEqual([1, 2, 3])
  })

  it('M-HTTP-08, X-SUB-04: list changes, updates, foreign progress and completion notices stay off a call', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any', {}, { progressToken: 'p', logLevel: 'debug' }))
    const request = await upstream.method('tools/call')
    for (const method of ['notifications/tools/list_changed', 'notifications/prompts/list_changed']) {
      request.say({ jsonrpc: '2.0', method })
    }
    request.say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:y' } })
    request.say({
      jsonrpc: '2.0',
      method: 'notifications/elicitation/complete',
      params: { elicitationId: 'e' },
    })
    request.say({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progress: 1, progressToken: 'p' },
    })
    upstream.say({ jsonrpc: '2.0', method: 'notifications/vendor', params: {} }, request.session)
    await heard(upstream, request)
    request.result(DONE)
    expect((await call.answer).messages).toHaveLength(1)
  })

  it('X-SUB-07: an unknown notification on the own POST stream of the call passes', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    request.say({ jsonrpc: '2.0', method: 'notifications/vendor', params: { a: 1 } })
    request.result(DONE)
    expect((await call.answer).notifications).toEqual([
      { jsonrpc: '2.0', method: 'notifications/vendor', params: { a: 1 } },
    ])
  })

  it('L-PNG-01, X-CAP-16: pings are answered here, on every stream, while suspended too', async () => {
    const upstream = await startRawUpstream()
    const { url } = await startGateway(upstream.url)
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    await heard(upstream, request)
    request.say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    const round = await call.answer
    await heard(upstream, request)
    upstream.say({ jsonrpc: '2.0', id: 'ping-get', method: 'ping' }, request.session)
    expect((await upstream.answer('ping-get')).message?.result).toEqual({})
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    await retry.answer
  })
})
