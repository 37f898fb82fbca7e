import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { ABLE, answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'

const MODES = ['post', 'get', 'sse'] as const
const FIFTY = Array.from({ length: 50 }, (_, index) => `client-${index}`)

describe.each(MODES)('calls do not touch each other, mode %s', (mode) => {
  async function start(...set: string[]) {
    const upstream = await startLegacySdk(mode)
    const { url } = await startGateway(upstream.url, ...set)
    return { upstream, url }
  }

  it('cases 18: fifty calls run while one is suspended', async () => {
    const { url } = await start()
    const round = await rawCall(url, toolCall('ask'))
    const answers = await Promise.all(FIFTY.map((text) => rawCall(url, toolCall('echo', { text }))))
    expect(answers.map((answer) => firstText(answer.result))).toEqual(FIFTY)
    const done = await rawCall(url, retryOf(toolCall('ask'), round, answersTo(round)))
    expect(firstText(done.result)).toBe('accept blue')
  })

  it.each([
    ['able', ABLE],
    ['unable', {}],
  ])('fifty %s clients with the same ids and tokens get their own', async (_name, capabilities) => {
    const { upstream, url } = await start()
    const calls = FIFTY.map((key) =>
      startCall(url, toolCall('slow', { key, steps: 2 }, { id: 1, progressToken: 'p', capabilities })),
    )
    // Progress and result may ride different streams: the result waits until the progress was seen.
    await Promise.all(calls.map(async (call) => [await call.next(), await call.next()]))
    for (const key of [...FIFTY].reverse()) upstream.open(key)
    const answers = await Promise.all(calls.map((call) => call.answer))
    for (const [index, answer] of answers.entries()) {
      const key = FIFTY[index]
      expect(firstText(answer.result)).toBe(`${key} done`)
      expect(answer.notifications.map((each) => at(each, 'params', 'message'))).toEqual([key, key])
      expect(answer.notifications.map((each) => at(each, 'params', 'progressToken'))).toEqual(['p', 'p'])
    }
  })

  it('fifty clients with the same id are each asked their own question', async () => {
    const { url } = await start()
    const texts = await Promise.all(
      FIFTY.map(async (text) => {
        const call = toolCall('ask', { text }, { id: 1 })
        const round = await rawCall(url, call)
        const [key = ''] = keysOf(round)
        expect(at(round.result, 'inputRequests', key, 'params', 'message')).toBe(text)
        return firstText((await rawCall(url, retryOf(call, round, answersTo(round, text)))).result)
      }),
    )
    expect(texts).toEqual(FIFTY.map((text) => `accept ${text}`))
  })

  it("a cancelled call's late question never reaches another caller", async () => {
    const { upstream, url } = await start()
    const stubborn = startCall(url, toolCall('stubborn', { key: 'late' }))
    await upstream.next((each) => each.what === 'call')
    stubborn.leave()
    await upstream.next((each) => each.what === 'aborted')
    const others = FIFTY.slice(0, 10).map((text) => rawCall(url, toolCall('ask', { text })))
    upstream.open('late')
    await upstream.next((each) => each.what === 'late question')
    for (const [index, round] of (await Promise.all(others)).entries()) {
      const questions = keysOf(round).map((key) =>
        at(round.result, 'inputRequests', key, 'params', 'message'),
      )
      expect(questions).toEqual([FIFTY[index]])
    }
    const session = upstream.calls('stubborn')[0]?.session
    expect(upstream.calls('ask').map((each) => each.session)).not.toContain(session)
  })

  it('A-15: counters of two credentials never mix, and one credential comes back to its session', async () => {
    const { upstream, url } = await start()
    const counts: Record<string, string[]> = { ada: [], eve: [] }
    for (const who of ['ada', 'eve', 'ada', 'ada', 'eve']) {
      const answer = await rawCall(url, toolCall('count', {}, { authorization: `Bearer ${who}` }))
      counts[who]?.push(firstText(answer.result))
    }
    expect(counts).toEqual({ ada: ['1', '2', '3'], eve: ['1', '2'] })
    expect(new Set(upstream.calls('count').map((each) => each.session)).size).toBe(2)
  })
})

describe('no call waits behind a person', () => {
  it('cases 17: with every session suspended a call is refused at once, and served when one is free', async () => {
    const upstream = await startLegacySdk('post')
    const { url } = await startGateway(
      upstream.url,
      'routes.0.sessions.max=2',
      'routes.0.sessions.waitMs=600000',
      'routes.0.exchange.maxSuspended=2',
    )
    const rounds = await Promise.all(['one', 'two'].map((text) => rawCall(url, toolCall('ask', { text }))))
    const refused = await rawCall(url, toolCall('echo', { text: 'now' }))
    expect(refused.status).toBe(503)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.error).toMatchObject({ code: -32603, data: { reason: 'overloaded' } })
    const unable = await rawCall(url, toolCall('echo', { text: 'now' }, { capabilities: {} }))
    expect([200, 503]).toContain(unable.status)

    const [first] = rounds
    if (first === undefined) throw new Error('no round')
    await rawCall(url, retryOf(toolCall('ask', { text: 'one' }), first, answersTo(first)))
    const served = await rawCall(url, toolCall('echo', { text: 'now' }))
    expect(firstText(served.result)).toBe('now')
  })

  it('with every session running a call waits its turn', async () => {
    const upstream = await startLegacySdk('post')
    const { url } = await startGateway(upstream.url, 'routes.0.sessions.max=1')
    const slow = startCall(url, toolCall('slow', { key: 'gate' }))
    await upstream.next((each) => each.what === 'call')
    const waiting = startCall(url, toolCall('echo', { text: 'at last' }))
    upstream.open('gate')
    expect(firstText((await slow.answer).result)).toBe('gate done')
    expect(firstText((await waiting.answer).result)).toBe('at last')
    expect(upstream.sessions.size).toBe(1)
  })
})
