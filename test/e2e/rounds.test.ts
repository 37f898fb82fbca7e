import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { ABLE, answersTo, keysOf, type RawAnswer, rawCall, retryOf, toolCall } from '../fixtures/rawCall.ts'

const MODES = ['post', 'get', 'json', 'sse'] as const

/** The messages and methods a round asks, by key. */
function asked(round: RawAnswer): unknown[] {
  return keysOf(round).map((key) => {
    const question = at(round.result, 'inputRequests', key)
    return at(question, 'params', 'message') ?? at(question, 'method')
  })
}

describe.each(MODES)('cases 11, 13: rounds, questions of an SDK v1 server in mode %s', (mode) => {
  async function start(...set: string[]) {
    const upstream = await startLegacySdk(mode)
    const { url } = await startGateway(upstream.url, ...set)
    return { upstream, url }
  }

  it('M-MRTR-17, M-BASE-13: one question is one plain JSON answer, and its retry on another connection completes the call', async () => {
    const { upstream, url } = await start()
    const call = toolCall('ask', { text: 'colour?' })
    const round = await rawCall(url, call)
    expect(round.asks).toBe(true)
    expect(round.headers['content-type']).toBe('application/json')
    expect(asked(round)).toEqual(['colour?'])
    const [key = ''] = keysOf(round)
    // M-MRTR-05: a method and its params, nothing else.
    expect(Object.keys(Object(at(round.result, 'inputRequests', key))).sort()).toEqual(['method', 'params'])
    const done = await rawCall(url, retryOf(call, round, answersTo(round, 'green')))
    expect(firstText(done.result)).toBe('accept green')
    expect(upstream.calls('ask')).toHaveLength(1)
  })

  it.each(['decline', 'cancel'])('M-ELI-04: %s passes as it is', async (action) => {
    const { url } = await start()
    const round = await rawCall(url, toolCall('ask'))
    const answers = Object.fromEntries(keysOf(round).map((key) => [key, { action }]))
    const done = await rawCall(url, retryOf(toolCall('ask'), round, answers))
    expect(firstText(done.result)).toBe(action)
  })

  it('M-MRTR-04: two rounds, keys unique over both', async () => {
    const { url } = await start()
    const call = toolCall('ask-twice')
    const first = await rawCall(url, call)
    const second = await rawCall(url, retryOf(call, first, answersTo(first, 'one')))
    expect(asked(second)).toEqual(['second?'])
    expect(keysOf(second)).not.toEqual(keysOf(first))
    const done = await rawCall(url, retryOf(call, second, answersTo(second, 'two')))
    expect(done.result?.content).toEqual([
      { type: 'text', text: 'accept one' },
      { type: 'text', text: 'accept two' },
    ])
  })

  it('M-VER-08: three questions at once are one round', async () => {
    const { url } = await start()
    const call = toolCall('ask-three')
    const round = await rawCall(url, call)
    expect(asked(round).sort()).toEqual(['a form?', 'roots/list', 'sampling/createMessage'])
    const done = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(done.result?.content).toEqual([
      { type: 'text', text: 'accept blue' },
      { type: 'text', text: 'fixture-model: blue' },
      { type: 'text', text: 'file:///blue' },
    ])
  })

  it('M-MRTR-13: a partial answer is kept and the rest asked again', async () => {
    const { url } = await start()
    const call = toolCall('ask-three')
    let round = await rawCall(url, call)
    const asks: number[] = []
    while (round.asks) {
      const keys = keysOf(round)
      asks.push(keys.length)
      const [key = ''] = keys
      round = await rawCall(url, retryOf(call, round, { [key]: answersTo(round)[key] }))
    }
    expect(asks).toEqual([3, 2, 1])
    expect(firstText(round.result)).toBe('accept blue')
  })

  it.each([
    ['prompts/get', { name: 'greet' }, ['messages', 0, 'content', 'text'], 'greet: accept blue'],
    ['resources/read', { uri: 'test://asking' }, ['contents', 0, 'text'], 'accept blue'],
  ] as const)('M-MRTR-02: %s may ask too', async (method, params, path, text) => {
    const { url } = await start()
    const call = { method, params, capabilities: ABLE }
    const round = await rawCall(url, call)
    expect(round.asks).toBe(true)
    const done = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(at(done.result, ...path)).toBe(text)
    // M-CACHE-01, M-CACHE-04: hints on reads alone, and none that outlives a round.
    const hints = method === 'resources/read' ? [0, 'private'] : [undefined, undefined]
    expect([done.result?.ttlMs, done.result?.cacheScope]).toEqual(hints)
  })

  it('M-HTTP-14: no session id in any byte a client sees', async () => {
    const { upstream, url } = await start()
    const call = toolCall('ask')
    const round = await rawCall(url, call)
    const done = await rawCall(url, retryOf(call, round, answersTo(round)))
    expect(upstream.sessions.size).toBeGreaterThan(0)
    for (const session of upstream.sessions) {
      for (const { bytes, headers } of [round, done]) {
        expect(bytes.includes(session)).toBe(false)
        expect(JSON.stringify(headers)).not.toContain(session)
      }
    }
  })
})
