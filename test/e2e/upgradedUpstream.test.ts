import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { startListening } from '../fixtures/listener.ts'
import { startModernSdk } from '../fixtures/modernSdk.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'
import { answersTo, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { type RawRequest, startRawUpstream } from '../fixtures/rawUpstream.ts'
import { connectSdk } from '../fixtures/sdkClient.ts'

const ECHO = toolCall('echo', { text: 'hi' })
const ASK = toolCall('ask')
const DISCOVERED = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }

const echoed = async (url: string) => firstText((await rawCall(url, ECHO)).result)

/** The call that asks, over its round. */
async function asked(url: string): Promise<string> {
  const round = await rawCall(url, ASK)
  expect(round.asks).toBe(true)
  return firstText((await rawCall(url, retryOf(ASK, round, answersTo(round)))).result)
}

describe('M-VER-07: a server that is exchanged on its port while the proxy runs', () => {
  it.each(['post', 'get', 'sse'] as const)(
    'upgraded and taken back (mode %s): no call is lost',
    async (mode) => {
      const legacy = await startLegacySdk(mode)
      const { url } = await startGateway(legacy.url)
      expect([await echoed(url), await asked(url)]).toEqual(['hi', 'accept blue'])
      await legacy.close()

      const path = new URL(legacy.url).pathname
      const modern = await startModernSdk(legacy.port)
      expect([await echoed(url), await asked(url)]).toEqual(['modern hi', 'modern {"answer":"blue"}'])
      const modernCalls = modern.requests.slice(modern.requests.indexOf('server/discover'))
      expect(modernCalls).toEqual(['server/discover', 'tools/call', 'tools/call', 'tools/call'])
      await modern.close()

      const back = await startLegacySdk(mode, legacy.port)
      expect(new URL(back.url).pathname).toBe(path)
      expect([await echoed(url), await asked(url)]).toEqual(['hi', 'accept blue'])
      expect(back.calls('echo')).toHaveLength(1)
    },
  )

  it('the official client stays connected, and its forms are answered by both', async () => {
    const legacy = await startLegacySdk('post')
    const { url, gateway } = await startGateway(legacy.url)
    const { client, asked: questions } = await connectOfficial(url)
    const call = async () => firstText(await client.callTool({ name: 'ask' }))
    expect(await call()).toBe('accept blue')
    await legacy.close()
    const modern = await startModernSdk(legacy.port)
    expect(await call()).toBe('modern {"answer":"blue"}')
    const { sockets } = gateway.counts()
    await modern.close()
    await expect.poll(() => gateway.counts().sockets).toBeLessThan(sockets)
    await startLegacySdk('post', legacy.port)
    expect(await call()).toBe('accept blue')
    expect(questions).toHaveLength(3)
  })

  it('a call that waited when the server was exchanged is lost, and said to be', async () => {
    const legacy = await startLegacySdk('post')
    const { url } = await startGateway(legacy.url)
    const round = await rawCall(url, ASK)
    await legacy.close()
    const modern = await startModernSdk(legacy.port)
    const { error } = await rawCall(url, retryOf(ASK, round, answersTo(round)))
    expect(at(error, 'data', 'reason')).toBe('exchange_lost')
    expect(modern.requests.filter((each) => each === 'tools/call')).toHaveLength(0)
  })

  it('clients of earlier revisions go on as before, where the new server takes them', async () => {
    const modern = await startModernSdk(0, 'stateless')
    const { url } = await startGateway(modern.url)
    const { client } = await connectSdk(url, 'streamable')
    expect(firstText(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toBe('modern hi')
    expect(await echoed(url)).toBe('modern hi')
  })

  it('listening is the upstream own, and a drain does not wait for it', async () => {
    const modern = await startModernSdk()
    const { url, gateway } = await startGateway(modern.url)
    const listening = startListening(url, { toolsListChanged: true })
    expect(await listening.acknowledged()).toEqual({ toolsListChanged: true })
    modern.notify.toolsChanged()
    expect(await listening.hears(1)).toEqual(['tools/list_changed'])
    expect(await gateway.drain()).toEqual({ sessions: 0, exchanges: 0, legs: 0, sockets: 0, timers: 0 })
  })
})

describe('an upstream that becomes modern in place', () => {
  /** Legacy until `upgrade`; then it opens no more sessions, and those it has live on. */
  async function start() {
    let modern = false
    const upstream = await startRawUpstream({
      capabilities: { tools: { listChanged: true } },
      script(request) {
        if (!modern || request.session !== undefined) return false
        if (request.method === 'initialize') request.status(400)
        else if (request.method === 'server/discover') request.result(DISCOVERED)
        else request.result({ resultType: 'complete', content: [], modern })
        return true
      },
    })
    const upgrade = (): void => {
      modern = true
    }
    return { upstream, upgrade, ...(await startGateway(upstream.url)) }
  }

  const question = {
    jsonrpc: '2.0',
    id: 'colour',
    method: 'elicitation/create',
    params: { message: '?', requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } } },
  }

  it('a call that waits is finished where it waits, new ones go to the new server', async () => {
    const { upstream, upgrade, url } = await start()
    const suspended = rawCall(url, ASK)
    const call = await upstream.method('tools/call')
    call.say(question)
    const round = await suspended
    expect(round.asks).toBe(true)
    upgrade()
    expect(at((await rawCall(url, ECHO)).result, 'modern')).toBe(true)
    const retry = rawCall(url, retryOf(ASK, round, answersTo(round)))
    await upstream.answer('colour')
    call.result({ content: [{ type: 'text', text: 'finished' }] })
    expect(firstText((await retry).result)).toBe('finished')
  })

  it('who listens through a session is told to come back', async () => {
    const { upgrade, url } = await start()
    const listening = startListening(url, { toolsListChanged: true })
    await listening.acknowledged()
    upgrade()
    expect(at((await rawCall(url, ECHO)).result, 'modern')).toBe(true)
    expect((await listening.answer).result).toBeDefined()
  })
})

describe('an answer to a modern request that a legacy server may give too', () => {
  it.each<[string, (request: RawRequest) => void]>([
    ['400', (request) => request.status(400, 'Bad Request: Server not initialized')],
    ['404', (request) => request.status(404, 'Invalid session')],
    ['405', (request) => request.status(405)],
  ])('%s, of a server that is legacy by now: the call is translated', async (_title, refuse) => {
    let modern = true
    const upstream = await startRawUpstream({
      script(request) {
        if (request.headers['mcp-protocol-version'] !== '2026-07-28') return false
        if (request.method === 'server/discover' && modern) request.result(DISCOVERED)
        else if (modern) request.result({ resultType: 'complete', content: [] })
        else refuse(request)
        return true
      },
    })
    const { url, gateway } = await startGateway(upstream.url)
    await rawCall(url, ECHO)
    modern = false
    const first = startCall(url, ECHO)
    const call = await upstream.next((each) => each.method === 'tools/call' && each.session !== undefined)
    call.result({ content: [{ type: 'text', text: 'legacy' }] })
    expect(firstText((await first.answer).result)).toBe('legacy')
    expect(gateway.counts().sessions).toBe(1)
  })

  it('the same of a modern server passes', async () => {
    const upstream = await startRawUpstream({
      script(request) {
        if (request.method === 'server/discover') request.result(DISCOVERED)
        else
          request.status(404, '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"none of mine"}}', {
            'content-type': 'application/json',
          })
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    for (let i = 0; i < 3; i++) {
      const answer = await rawCall(url, ECHO)
      expect([answer.status, at(answer.error, 'message')]).toEqual([404, 'none of mine'])
    }
    expect(upstream.all((each) => each.method === 'server/discover')).toHaveLength(2)
  })
})
