import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import {
  ANNOUNCING,
  changed,
  SUBSCRIPTION_ID,
  startListening,
  subscribing,
  updated,
} from '../fixtures/listener.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'
import { rawCall, startCall, toolCall } from '../fixtures/rawCall.ts'
import { type RawUpstreamOptions, startRawUpstream } from '../fixtures/rawUpstream.ts'

const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
const DONE = '{"content":[{"type":"text","text":"done"}]}'

async function start(options: RawUpstreamOptions = {}, ...set: string[]) {
  const upstream = await startRawUpstream({ capabilities: ANNOUNCING, script: subscribing, ...options })
  return { upstream, ...(await startGateway(upstream.url, ...set)) }
}

/** Resolves when nothing is open but what the pool keeps. */
async function untilQuiet(gateway: Awaited<ReturnType<typeof startGateway>>['gateway']): Promise<void> {
  await expect.poll(() => gateway.counts().legs).toBe(0)
}

describe.each(['streamable', 'sse'] as const)('listening, upstream on %s', (transport) => {
  it.each(['listen-1', 7])('M-SUB-01, M-SUB-02: acknowledged first, under the id %j', async (id) => {
    const capabilities = { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } }
    const { upstream, url } = await start({ transport, capabilities })
    const listener = startListening(url, { ...ALL, resourceSubscriptions: ['a:1'], other: 1 }, { id })
    const first = await listener.next()
    expect(first.method).toBe('notifications/subscriptions/acknowledged')
    expect(first.params).toEqual({
      _meta: { [SUBSCRIPTION_ID]: id },
      notifications: { toolsListChanged: true, resourceSubscriptions: ['a:1'] },
    })
    const { headers, statusCode } = await listener.head
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/event-stream'])
    upstream.say(changed('tools'))
    expect(await listener.next()).toEqual({
      ...changed('tools'),
      params: { _meta: { [SUBSCRIPTION_ID]: id } },
    })
    upstream.say(updated('a:1'))
    expect(at(await listener.next(), 'params')).toEqual({ uri: 'a:1', _meta: { [SUBSCRIPTION_ID]: id } })
  })

  it('case 44: the same change twice in 5 ms is told once, to those who asked', async () => {
    const { upstream, url } = await start({ transport })
    const tools = startListening(url, { toolsListChanged: true, promptsListChanged: true })
    const others = startListening(url, { resourcesListChanged: true, toolsListChanged: false })
    expect(await tools.acknowledged()).toEqual({ toolsListChanged: true, promptsListChanged: true })
    expect(await others.acknowledged()).toEqual({ resourcesListChanged: true })
    upstream.say(changed('tools'))
    upstream.say(changed('tools'))
    expect(await tools.hears(1)).toEqual(['tools/list_changed'])
    upstream.say(changed('resources'))
    upstream.say(changed('prompts'))
    expect(await tools.hears(1)).toEqual(['prompts/list_changed'])
    expect(await others.hears(1)).toEqual(['resources/list_changed'])
    // Both share one session.
    expect(upstream.sessions).toHaveLength(1)
  })

  it('M-SUB-07: every session of the credential is heard on every stream, and told once', async () => {
    const { upstream, url } = await start({ transport })
    const listener = startListening(url, ALL)
    await listener.acknowledged()
    const call = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    expect(upstream.sessions).toHaveLength(2)
    request.say(changed('tools'))
    for (const session of upstream.sessions) upstream.say(changed('tools'), session)
    expect(await listener.hears(1)).toEqual(['tools/list_changed'])
    request.say(changed('prompts'))
    expect(await listener.hears(1)).toEqual(['prompts/list_changed'])
    request.result(DONE)
    expect((await call.answer).notifications).toEqual([])
  })

  it('X-SUB-01: a lost session is opened again, with its subscriptions, and whoever listens is told', async () => {
    let forgotten: string | undefined
    const { upstream, url } = await start({
      transport,
      script(request) {
        if (request.session === undefined || request.session !== forgotten) return subscribing(request)
        request.status(404)
        return true
      },
    })
    const listener = startListening(url, { toolsListChanged: true, resourceSubscriptions: ['a:1'] })
    await listener.acknowledged()
    const [first] = upstream.sessions
    const subscribe = await upstream.method('resources/subscribe')
    expect(subscribe.session).toBe(first)
    forgotten = first
    upstream.stream()?.kill()
    const again = await upstream.method('resources/subscribe')
    expect(again.session).not.toBe(first)
    expect(at(again.message, 'params', 'uri')).toBe('a:1')
    expect((await listener.hears(2)).sort()).toEqual(['a:1', 'tools/list_changed'])
    upstream.say(changed('tools'))
    expect(await listener.hears(1)).toEqual(['tools/list_changed'])
  })

  it('M-SUB-06: a shutdown ends it with its result, which names server and subscription', async () => {
    const { url, gateway } = await start({ transport })
    const listener = startListening(url, ALL, { id: 'l' })
    await listener.acknowledged()
    await gateway.drain()
    const { messages, result } = await listener.answer
    expect(messages).toHaveLength(2)
    expect(result).toEqual({
      resultType: 'complete',
      _meta: {
        'io.modelcontextprotocol/serverInfo': { name: 'raw-upstream', version: '1.0.0' },
        [SUBSCRIPTION_ID]: 'l',
      },
    })
  })

  it('M-HTTP-11: a client that leaves takes its subscriptions along', async () => {
    const { upstream, url, gateway } = await start({ transport })
    const listener = startListening(url, { resourceSubscriptions: ['a:1'] })
    await listener.acknowledged()
    expect(gateway.counts()).toMatchObject({ legs: 1, sessions: 1 })
    listener.leave()
    const unsubscribe = await upstream.method('resources/unsubscribe')
    expect(at(unsubscribe.message, 'params', 'uri')).toBe('a:1')
    await untilQuiet(gateway)
    // M-CAN-01: nothing is cancelled upstream, since no call was running.
    expect(upstream.all((each) => each.method === 'notifications/cancelled')).toEqual([])
  })
})

describe('what is told to whom', () => {
  it('M-SUB-04, M-HTTP-07: neither progress nor logs, nor what nobody asked for', async () => {
    const { upstream, url } = await start()
    const listener = startListening(
      url,
      { toolsListChanged: true },
      { progressToken: 'p', logLevel: 'debug' },
    )
    await listener.acknowledged()
    for (const method of ['message', 'vendor', 'progress', 'subscriptions/acknowledged', 'tasks/status']) {
      upstream.say({
        jsonrpc: '2.0',
        method: `notifications/${method}`,
        params: { progressToken: 'p', progress: 1 },
      })
    }
    upstream.say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: '?' } })
    expect(await upstream.answer('q')).toMatchObject({ message: { error: { code: -32601 } } })
    upstream.say(changed('prompts'))
    upstream.say(updated('a:1'))
    upstream.say(changed('tools'))
    expect(await listener.hears(1)).toEqual(['tools/list_changed'])
  })

  it('M-SUB-02: the upstream names no subscription; the rest of its words pass as they are', async () => {
    const { upstream, url, gateway } = await start()
    const listener = startListening(url, { resourceSubscriptions: ['a:1'] }, { id: 9 })
    await listener.acknowledged()
    upstream.say(
      `{"method":"notifications/resources/updated","params":{"x":1.0,"_meta":{"${SUBSCRIPTION_ID}":"theirs","y":1e2},"uri":"a:1"},"jsonrpc":"2.0"}`,
    )
    await listener.next()
    await gateway.drain()
    expect((await listener.answer).bytes.toString()).toContain(
      `data: {"method":"notifications/resources/updated","params":{"x":1.0,"_meta":{"${SUBSCRIPTION_ID}":9,"y":1e2},"uri":"a:1"},"jsonrpc":"2.0"}\n`,
    )
  })

  it('X-SUB-01: a resource is subscribed once, before the acknowledgement, and refused ones are left out', async () => {
    const { upstream, url } = await start()
    const resourceSubscriptions = ['a:1', 'a:refused', 'a:2', 'a:1']
    const one = startListening(url, { resourceSubscriptions })
    expect(await one.acknowledged()).toEqual({ resourceSubscriptions: ['a:1', 'a:2'] })
    const two = startListening(url, { resourceSubscriptions: ['a:1'] })
    expect(await two.acknowledged()).toEqual({ resourceSubscriptions: ['a:1'] })
    const asked = () =>
      upstream
        .all((each) => each.method?.startsWith('resources/') === true)
        .map((each) => `${each.method} ${at(each.message, 'params', 'uri')}`)
    expect(asked()).toEqual([
      'resources/subscribe a:1',
      'resources/subscribe a:refused',
      'resources/subscribe a:2',
    ])
    one.leave()
    await upstream.method('resources/unsubscribe')
    expect(asked().slice(3)).toEqual(['resources/unsubscribe a:2'])
    two.leave()
    await upstream.method('resources/unsubscribe')
    expect(asked().slice(4)).toEqual(['resources/unsubscribe a:1'])
  })

  it('M-SUB-08, X-SUB-03: an update below a subscribed resource is told, one beside it is not', async () => {
    const { upstream, url } = await start()
    const listener = startListening(url, { resourceSubscriptions: ['file:///dir', 'file:///other/'] })
    await listener.acknowledged()
    for (const uri of [
      'file:///directory',
      'file:///dir/a',
      'file:///',
      'file:///other/b',
      'file:///dir#c',
    ]) {
      upstream.say(updated(uri))
    }
    expect(await listener.hears(3)).toEqual(['file:///dir/a', 'file:///other/b', 'file:///dir#c'])
  })

  it('M-CACHE-06: another credential hears nothing of it, and two of the same hear the same', async () => {
    const { upstream, url } = await start()
    const filter = { toolsListChanged: true, promptsListChanged: true }
    const ada = startListening(url, filter, { authorization: 'Bearer ada' })
    await ada.acknowledged()
    const eve = startListening(url, filter, { authorization: 'Bearer eve' })
    await eve.acknowledged()
    const again = startListening(url, filter, { authorization: 'Bearer ada' })
    await again.acknowledged()
    expect(upstream.sessions).toHaveLength(2)
    const [first, second] = upstream.sessions
    upstream.say(changed('tools'), first)
    expect(await ada.hears(1)).toEqual(['tools/list_changed'])
    expect(await again.hears(1)).toEqual(['tools/list_changed'])
    upstream.say(changed('prompts'), second)
    expect(await eve.hears(1)).toEqual(['prompts/list_changed'])
  })

  it('callers without credentials that are strangers do not hear what is said to each other', async () => {
    const { upstream, url } = await start({}, 'routes.0.sessions.anonymous=isolate')
    const filter = { toolsListChanged: true, promptsListChanged: true }
    const one = startListening(url, filter)
    await one.acknowledged()
    const two = startListening(url, filter)
    await two.acknowledged()
    const [first, second] = upstream.sessions
    upstream.say(changed('tools'), first)
    expect(await one.hears(1)).toEqual(['tools/list_changed'])
    upstream.say(changed('prompts'), second)
    expect(await two.hears(1)).toEqual(['prompts/list_changed'])
  })
})

describe('what can be asked for', () => {
  it.each([
    ['nothing', undefined],
    ['an array', ['toolsListChanged']],
    ['null', null],
    ['a word in place of a boolean', { toolsListChanged: 'yes' }],
    ['one URI without its array', { resourceSubscriptions: 'a:1' }],
    ['a URI that is none', { resourceSubscriptions: ['a:1', 2] }],
    ['a URI of 9 KiB', { resourceSubscriptions: ['a:'.padEnd(9 * 1024, 'x')] }],
    ['257 URIs', { resourceSubscriptions: Array.from({ length: 257 }, (_, i) => `a:${i}`) }],
  ])('M-SUB-09: a filter that is %s is -32602', async (_what, notifications) => {
    const { upstream, url } = await start()
    const answer = await rawCall(url, { method: 'subscriptions/listen', params: { notifications } })
    expect([answer.status, answer.error?.code]).toEqual([400, -32602])
    expect(upstream.all((each) => each.method !== 'server/discover')).toEqual([])
  })

  it('M-SUB-01: nothing that can be kept is an empty filter, and the stream stays', async () => {
    const { url, gateway, close } = await start({ capabilities: { tools: {} } })
    const listener = startListening(url, ALL)
    expect(await listener.acknowledged()).toEqual({})
    expect((await rawCall(url, { method: 'server/discover' })).status).toBe(200)
    expect(gateway.counts().legs).toBe(1)
    await close()
    expect((await listener.answer).result?.resultType).toBe('complete')
  })

  it.each([true, false])(
    'X-CAP-05: with a stream (%s) changes are promised, without one not',
    async (stream) => {
      const { url } = await start({ stream })
      const discovered = await rawCall(url, { method: 'server/discover' })
      const capabilities = at(discovered.result, 'capabilities')
      const listener = startListening(url, { ...ALL, resourceSubscriptions: ['a:1'] })
      const acknowledged = await listener.acknowledged()
      expect(capabilities).toEqual(stream ? ANNOUNCING : { tools: {}, prompts: {}, resources: {} })
      expect(acknowledged).toEqual(stream ? { ...ALL, resourceSubscriptions: ['a:1'] } : {})
    },
  )

  it('a client that takes no event stream gets 406', async () => {
    const { upstream, url } = await start()
    const answer = await rawCall(url, {
      method: 'subscriptions/listen',
      params: { notifications: ALL },
      headers: { accept: 'application/json' },
    })
    expect([answer.status, answer.error?.code]).toEqual([406, -32600])
    expect(upstream.all((each) => each.method !== 'server/discover')).toEqual([])
  })

  it('a client that takes nothing but an event stream is served', async () => {
    const { upstream, url } = await start()
    const listener = startListening(url, ALL, { headers: { accept: 'text/event-stream' } })
    expect(await listener.acknowledged()).toEqual(ALL)
    upstream.say(changed('tools'))
    expect(await listener.hears(1)).toEqual(['tools/list_changed'])
  })

  it('M-SUB-05: a caller may have 256 of them, under one id too, and not one more', async () => {
    const { upstream, url } = await start()
    const listeners = Array.from({ length: 256 }, () => startListening(url, { toolsListChanged: true }))
    await Promise.all(listeners.map((each) => each.acknowledged()))
    expect(upstream.sessions).toHaveLength(1)
    const refused = await rawCall(url, { method: 'subscriptions/listen', params: { notifications: {} } })
    expect([refused.status, at(refused.error, 'data', 'reason')]).toEqual([429, 'overloaded'])
    upstream.say(changed('tools'))
    await Promise.all(listeners.map((each) => each.hears(1)))
    listeners[0]?.leave()
    await expect
      .poll(async () => {
        const call = startListening(url, {})
        return (await call.head).statusCode
      })
      .toBe(200)
  })

  it('listeners leave a quarter of the sessions to calls', async () => {
    const { url } = await start({}, 'routes.0.sessions.max=4')
    for (const who of ['a', 'b', 'c', 'a']) {
      await startListening(url, ALL, { authorization: `Bearer ${who}` }).acknowledged()
    }
    const refused = await rawCall(url, {
      method: 'subscriptions/listen',
      params: { notifications: ALL },
      authorization: 'Bearer d',
    })
    expect([refused.status, at(refused.error, 'data', 'reason')]).toEqual([503, 'overloaded'])
  })

  it('an upstream that refuses the credentials refuses the subscription, with its challenge', async () => {
    const { url, gateway } = await start({
      script(request) {
        request.status(401, '', { 'www-authenticate': 'Bearer realm="x"' })
        return true
      },
    })
    const answer = await rawCall(url, { method: 'subscriptions/listen', params: { notifications: ALL } })
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer realm="x"'])
    expect(gateway.counts()).toMatchObject({ legs: 0, sessions: 0 })
  })

  it('a session that somebody listens on is not idle', async () => {
    const { upstream, url } = await start({}, 'routes.0.sessions.idleTtlMs=40')
    const listener = startListening(url, { toolsListChanged: true })
    await listener.acknowledged()
    const call = startCall(url, toolCall('any'))
    ;(await upstream.method('tools/call')).result(DONE)
    await call.answer
    // The call's own session goes, the other stays.
    const removed = await upstream.next((each) => each.verb === 'DELETE')
    expect(removed.session).toBe(upstream.sessions[1])
    upstream.say(changed('tools'), upstream.sessions[0])
    expect(await listener.hears(1)).toEqual(['tools/list_changed'])
    listener.leave()
    expect((await upstream.next((each) => each.verb === 'DELETE')).session).toBe(upstream.sessions[0])
  })

  it('nobody waits for a session that somebody only listens on', async () => {
    const { url } = await start({}, 'routes.0.sessions.max=1', 'routes.0.sessions.waitMs=600000')
    await startListening(url, ALL).acknowledged()
    const refused = await rawCall(url, toolCall('any'))
    expect([refused.status, at(refused.error, 'data', 'reason')]).toEqual([503, 'overloaded'])
  })
})

describe.each(['post', 'get', 'sse'] as const)('servers and clients that others wrote, mode %s', (mode) => {
  it('M-SUB-07: a tool that changes the tools is heard by the official client', async () => {
    const upstream = await startLegacySdk(mode)
    const { url, gateway } = await startGateway(upstream.url)
    const { client } = await connectOfficial(url)
    expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
    let tell = (): void => undefined
    const told = new Promise<void>((resolve) => {
      tell = resolve
    })
    client.setNotificationHandler('notifications/tools/list_changed', () => tell())
    const subscription = await client.listen({ toolsListChanged: true, promptsListChanged: true })
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true })
    await client.callTool({ name: 'announce', arguments: {} })
    await told
    await gateway.drain()
    expect(await subscription.closed).toBe('graceful')
  })

  it('M-SUB-05: the official client closes what it opened', async () => {
    const upstream = await startLegacySdk(mode)
    const { url, gateway } = await startGateway(upstream.url)
    const { client } = await connectOfficial(url)
    const one = await client.listen({ toolsListChanged: true })
    const two = await client.listen({ toolsListChanged: true })
    await expect.poll(() => gateway.counts().legs).toBe(2)
    await one.close()
    await two.close()
    await untilQuiet(gateway)
  })
})
