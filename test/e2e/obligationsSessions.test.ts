import { describe, expect, it, onTestFinished } from 'vitest'
import { createGateway } from '../../src/gateway.ts'
import { loadOptions } from '../../src/options/load.ts'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText, type Json } from '../fixtures/json.ts'
import { freePort } from '../fixtures/listening.ts'
import {
  ABLE,
  answersTo,
  bodyOf,
  keysOf,
  rawCall,
  retryOf,
  startCall,
  toolCall,
} from '../fixtures/rawCall.ts'
import { heard, type RawUpstreamOptions, startRawUpstream } from '../fixtures/rawUpstream.ts'
import { relayed } from '../fixtures/relayed.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'
const FORM = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
const FORM_ASKED = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: FORM }
const ROOTS_ASKED = { jsonrpc: '2.0', id: 'r', method: 'roots/list' }
const LOGGING = { tools: {}, logging: {} }

async function start(options: RawUpstreamOptions = {}, ...set: string[]) {
  const upstream = await startRawUpstream(options)
  return { upstream, ...(await startGateway(upstream.url, ...set)) }
}

const log = (level: string): Json => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level, data: level },
})

describe('what a session is told', () => {
  it('L-BASE-01: integers as ids, each once, over all sessions', async () => {
    const { upstream, url } = await start({ capabilities: LOGGING })
    const running = ['a', 'b', 'c'].map((name) => startCall(url, toolCall(name, {}, { logLevel: 'info' })))
    for (const _call of running) (await upstream.method('tools/call')).result(DONE)
    await Promise.all(running.map((call) => call.answer))
    await relayed(upstream, url, { method: 'tools/list' }, { tools: [] })
    const ids = upstream.all((each) => each.method !== undefined && each.id !== undefined).map(({ id }) => id)
    expect(ids.length).toBeGreaterThan(8)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !Number.isSafeInteger(id))).toEqual([])
  })

  it('M-BASE-18: who its clients say they are is not asked, and one session serves them all', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any')
    for (const name of ['one', 'another', undefined]) {
      const body = bodyOf(call)
      const meta = Object(at(body, 'params', '_meta'))
      meta['io.modelcontextprotocol/clientInfo'] = name && { name, version: '1' }
      const { request } = await relayed(upstream, url, { ...call, body: JSON.stringify(body) }, DONE)
      expect(request.session).toBe('raw-session-1')
    }
    expect(upstream.all().some((each) => each.body.includes('another'))).toBe(false)
  })

  it('L-ROO-02, X-SUB-06: no change of roots is declared, nor told', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any', {}, { capabilities: { roots: { listChanged: true } } })
    for (const answer of ['one', 'two']) {
      const first = startCall(url, call)
      const request = await upstream.method('tools/call')
      request.say(ROOTS_ASKED)
      const round = await first.answer
      const retry = startCall(url, retryOf(call, round, answersTo(round, answer)))
      await upstream.answer('r')
      request.result(DONE)
      await retry.answer
    }
    const [initialize] = upstream.all((each) => each.method === 'initialize')
    expect(at(initialize?.message, 'params', 'capabilities')).toEqual({ roots: {} })
    expect(upstream.all((each) => each.method?.includes('list_changed') === true)).toEqual([])
  })

  it('M-BASE-12: roots told for one call are not remembered for the next', async () => {
    const { upstream, url } = await start()
    const told: unknown[] = []
    for (const answer of ['one', 'two']) {
      const first = startCall(url, toolCall('any'))
      const request = await upstream.method('tools/call')
      expect(request.session).toBe('raw-session-1')
      request.say(ROOTS_ASKED)
      const round = await first.answer
      expect(round.asks).toBe(true)
      const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round, answer)))
      told.push(at((await upstream.answer('r')).message, 'result', 'roots', 0, 'uri'))
      request.result(DONE)
      await retry.answer
    }
    expect(told).toEqual(['file:///one', 'file:///two'])
  })

  it('L-PRG-01: tokens of its own, whatever those of its clients', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any', {}, { id: 1, progressToken: 'same', capabilities: {} })
    const running = [startCall(url, call), startCall(url, call)]
    const requests = [await upstream.method('tools/call'), await upstream.method('tools/call')]
    const tokens = requests.map((each) => at(each.message, 'params', '_meta', 'progressToken'))
    expect(requests.map(({ session }) => session)).toEqual(['raw-session-1', 'raw-session-1'])
    expect(new Set([...tokens, 'same']).size).toBe(3)
    for (const request of requests) request.result(DONE)
    await Promise.all(running.map(({ answer }) => answer))
  })

  it('L-LOG-01, X-LOG-01: a log level where it is not verbose enough, before the call', async () => {
    const { upstream, url } = await start({ capabilities: LOGGING })
    for (const logLevel of ['warning', 'error', 'debug', undefined, 'info']) {
      await relayed(upstream, url, toolCall('any', {}, { ...(logLevel && { logLevel }) }), DONE)
    }
    const order = upstream.all((each) => each.method === 'tools/call' || each.method === 'logging/setLevel')
    const CALL = 'tools/call'
    expect(order.map((each) => at(each.message, 'params', 'level') ?? each.method)).toEqual([
      'warning',
      CALL,
      CALL,
      'debug',
      CALL,
      CALL,
      CALL,
    ])
  })

  it('L-LOG-01: a level that it refuses is not the failure of the call', async () => {
    const { upstream, url } = await start({
      capabilities: LOGGING,
      script: (request) => {
        if (request.method !== 'logging/setLevel') return false
        request.error({ code: -32601, message: 'no' })
        return true
      },
    })
    const { answer } = await relayed(upstream, url, toolCall('any', {}, { logLevel: 'info' }), DONE)
    expect(firstText(answer.result)).toBe('done')
  })

  it('M-LOG-03: no level where it declared no logging, and what it logs all the same is dropped', async () => {
    const { upstream, url } = await start({ capabilities: { tools: {} } })
    const call = startCall(url, toolCall('any', {}, { logLevel: 'debug' }))
    const request = await upstream.method('tools/call')
    request.say(log('error'))
    upstream.say(log('error'), request.session)
    await heard(upstream, request)
    request.result(DONE)
    expect((await call.answer).notifications).toEqual([])
    expect(upstream.all((each) => each.method === 'logging/setLevel')).toEqual([])
  })
})

describe('a server request that no call can ask', () => {
  it('X-SRQ-11: on an idle session it is refused, a ping is answered, roots wait for the next call', async () => {
    const { upstream, url } = await start()
    const { request } = await relayed(upstream, url, toolCall('any'), DONE)
    upstream.say(ROOTS_ASKED, request.session)
    upstream.say(FORM_ASKED, request.session)
    upstream.say({ jsonrpc: '2.0', id: 'p', method: 'ping' }, request.session)
    expect((await upstream.answer('p')).message?.result).toEqual({})
    expect((await upstream.answer('q')).message?.error).toMatchObject({ code: -32601 })

    const first = startCall(url, toolCall('next'))
    const next = await upstream.method('tools/call')
    expect(next.session).toBe(request.session)
    const round = await first.answer
    expect(keysOf(round).map((key) => at(round.result, 'inputRequests', key, 'method'))).toEqual([
      'roots/list',
    ])
    const retry = startCall(url, retryOf(toolCall('next'), round, answersTo(round)))
    expect((await upstream.answer('r')).message?.result).toEqual({
      roots: [{ uri: 'file:///blue', name: 'blue' }],
    })
    next.result(DONE)
    await retry.answer
  })

  it('X-SRQ-12: with several calls on its session it is refused, and none of them is blamed', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any', {}, { capabilities: {} })
    const running = [startCall(url, call), startCall(url, call)]
    const requests = [await upstream.method('tools/call'), await upstream.method('tools/call')]
    upstream.say(FORM_ASKED, requests[0]?.session)
    expect((await upstream.answer('q')).message?.error).toMatchObject({ code: -32601 })
    for (const request of requests) request.result('{"content":[],"isError":true}')
    for (const { answer } of running) expect((await answer).result?.isError).toBe(true)
  })

  it('X-SRQ-12: one call alone there, or the one on whose stream it came, is told what it lacked', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any', {}, { capabilities: {} })
    for (const own of [true, false]) {
      const other = own ? startCall(url, call) : undefined
      const beside = other && (await upstream.method('tools/call'))
      const asking = startCall(url, call)
      const request = await upstream.method('tools/call')
      if (own) request.say(FORM_ASKED)
      else upstream.say(FORM_ASKED, request.session)
      await upstream.answer('q')
      request.result('{"content":[],"isError":true}')
      const refused = await asking.answer
      expect(refused.error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: {} } },
      })
      beside?.result('{"content":[],"isError":true}')
      expect((await other?.answer)?.result?.isError ?? true).toBe(true)
    }
  })

  it('X-SRQ-13, M-CMP-01: during a completion it is refused, roots on its own stream too', async () => {
    const { upstream, url } = await start()
    const completion = {
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
      capabilities: ABLE,
    }
    const running = startCall(url, completion)
    const request = await upstream.method(completion.method)
    request.say(ROOTS_ASKED)
    request.say(FORM_ASKED)
    expect((await upstream.answer('q')).message?.error).toMatchObject({ code: -32601 })
    request.result({ completion: { values: ['a'] } })
    expect((await running.answer).result).toMatchObject({
      resultType: 'complete',
      completion: { values: ['a'] },
    })
    expect((await upstream.answer('r')).message?.error).toMatchObject({ code: -32601 })
  })
})

describe('what is cancelled', () => {
  it('L-CAN-01: never initialize; a client that leaves meanwhile costs no call', async () => {
    const { upstream, url } = await start({
      script: (request) => {
        if (request.method !== 'initialize') return false
        setTimeout(() => request.error({ code: -32603, message: 'late' }), 150)
        return true
      },
    })
    const call = startCall(url, toolCall('any'))
    await upstream.method('initialize')
    call.leave()
    // Its failure has come by the time a second client gets its own.
    await rawCall(url, toolCall('other'))
    const methods = upstream.all().map((each) => each.method)
    expect(methods).not.toContain('notifications/cancelled')
    expect(methods).not.toContain('tools/call')
  })

  it.each(['streamable', 'sse'] as const)(
    'L-CAN-03: a response that comes after that is nobody’s, %s',
    async (transport) => {
      const { upstream, url } = await start({ transport })
      const other = startCall(url, toolCall('other', {}, { id: 1, capabilities: {} }))
      const beside = await upstream.method('tools/call')
      const call = startCall(url, toolCall('any', {}, { id: 1, capabilities: {} }))
      const request = await upstream.method('tools/call')
      expect(request.session).toBe(beside.session)
      call.leave()
      await upstream.method('notifications/cancelled')
      const late = `{"jsonrpc":"2.0","id":${String(request.id)},"result":{"content":[{"type":"text","text":"late"}]}}`
      upstream.say(late, request.session)
      upstream.say(late, request.session)
      beside.result(DONE)
      expect(firstText((await other.answer).result)).toBe('done')
      const { answer } = await relayed(upstream, url, toolCall('next', {}, { id: 1 }), DONE)
      expect(firstText(answer.result)).toBe('done')
    },
  )

  it('L-LIF-04, M-CAN-03: a call that runs out of time, which is then 504', async () => {
    const { upstream, url } = await start({}, 'routes.0.upstream.requestTimeoutMs=100')
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    const cancelled = await upstream.method('notifications/cancelled')
    expect(cancelled.message?.params).toMatchObject({ requestId: request.id })
    const answer = await call.answer
    expect([answer.status, answer.error?.data]).toEqual([504, { reason: 'upstream_timeout' }])
  })
})

it('cases 17, M-TOOL-06: one caller’s limit is its own, and says when to come back', async () => {
  const { upstream, url } = await start({}, 'routes.0.exchange.maxSuspendedPerPrincipal=1')
  const ada = toolCall('ask', {}, { authorization: 'Bearer ada' })
  const first = startCall(url, ada)
  ;(await upstream.method('tools/call')).say(FORM_ASKED)
  expect((await first.answer).asks).toBe(true)
  const refused = await rawCall(url, ada)
  expect([refused.status, refused.error?.data]).toEqual([429, { reason: 'overloaded' }])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  const { answer } = await relayed(upstream, url, { ...ada, authorization: 'Bearer eve' }, DONE)
  expect(firstText(answer.result)).toBe('done')
})

it('cases 9, cases 49: asking for its health neither needs credentials nor the upstream', async () => {
  const upstream = await startRawUpstream()
  const admin = `127.0.0.1:${await freePort()}`
  const flags = { upstream: upstream.url, listen: '127.0.0.1:0', admin }
  const gateway = createGateway(loadOptions({ env: {}, flags }))
  await gateway.listen()
  onTestFinished(async () => void (await gateway.close()))
  for (const path of ['healthz', 'readyz', 'readyz']) {
    expect((await fetch(`http://${admin}/${path}`)).status).toBe(200)
  }
  expect(upstream.all()).toEqual([])
})

it('X-ENV-15: session, event ids and retry times of the upstream stay here', async () => {
  const { upstream, url } = await start()
  const call = startCall(url, toolCall('any'))
  const request = await upstream.method('tools/call')
  request.begin({ 'mcp-session-id': 'raw-session-1', 'x-upstream': 'yes' })
  const vendor = '{"jsonrpc":"2.0","method":"notifications/vendor"}'
  request.write(`id: 77\nretry: 1234\nevent: message\ndata: ${vendor}\n\n`)
  request.result(DONE)
  const { bytes, headers, notifications } = await call.answer
  expect(notifications).toHaveLength(1)
  expect(bytes.toString()).not.toMatch(/^(id|retry):|raw-session/m)
  expect(JSON.stringify(headers)).not.toMatch(/raw-session|x-upstream/)
})
