import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { type LegacyMode, startLegacySdk } from '../fixtures/legacySdk.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'
import { answersTo, rawCall, retryOf, toolCall } from '../fixtures/rawCall.ts'
import { connectSdk } from '../fixtures/sdkClient.ts'

const transportOf = (mode: LegacyMode) => (mode === 'sse' ? 'sse' : 'streamable')

describe.each<LegacyMode>(['post', 'get', 'json', 'sse'])('an SDK v1 client, upstream mode %s', (mode) => {
  async function start(...set: string[]) {
    const upstream = await startLegacySdk(mode)
    return { upstream, ...(await startGateway(upstream.url, ...set)) }
  }

  it('M-VER-05: uses the server through our URL as it is, and ends its session', async () => {
    const { upstream, url } = await start()
    const { client, end } = await connectSdk(url, transportOf(mode))
    expect(client.getServerVersion()).toEqual({ name: 'legacy-fixture', version: '1.2.3' })
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('ask')
    expect(firstText(await client.callTool({ name: 'echo', arguments: { text: 'hi' } }))).toBe('hi')
    expect((await client.readResource({ uri: 'test://plain' })).contents).toHaveLength(1)
    expect(upstream.sessions.size).toBe(1)
    await end()
    await upstream.next((each) => each.what === 'closed')
    if (mode !== 'sse') expect(upstream.all((each) => each.what === 'delete')).toHaveLength(1)
  })

  it('answers forms, completions and roots in the middle of a call', async () => {
    const { url } = await start()
    const { client, asked } = await connectSdk(url, transportOf(mode), { answer: 'green' })
    expect(firstText(await client.callTool({ name: 'ask' }))).toBe('accept green')
    const three = await client.callTool({ name: 'ask-three' })
    expect(three.content).toEqual(
      ['accept green', 'fixture-model: green', 'file:///green'].map((text) => ({ type: 'text', text })),
    )
    expect(asked).toHaveLength(4)
  })

  it('at the same time as modern clients on the same route, each with its own answers', async () => {
    const { url } = await start()
    const old = await connectSdk(url, transportOf(mode), { answer: 'old' })
    const official = await connectOfficial(url, { answer: 'new' })
    const asking = toolCall('ask-twice')
    const round = await rawCall(url, asking)
    const [was, is, more] = await Promise.all([
      old.client.callTool({ name: 'ask-twice' }),
      official.client.callTool({ name: 'ask-twice', arguments: {} }),
      rawCall(url, retryOf(asking, round, answersTo(round, 'raw'))),
    ])
    expect([firstText(was), firstText(is)]).toEqual(['accept old', 'accept new'])
    expect(more.asks).toBe(true)
    const last = await rawCall(url, retryOf(asking, more, answersTo(more, 'raw')))
    expect(firstText(last.result)).toBe('accept raw')
  })

  it('its progress and logs reach it, and its cancellation the server', async () => {
    const { upstream, url } = await start()
    const { client } = await connectSdk(url, transportOf(mode))
    const seen: number[] = []
    const leaving = new AbortController()
    const call = client.callTool({ name: 'slow', arguments: { key: 'never', steps: 2 } }, undefined, {
      signal: leaving.signal,
      onprogress: ({ progress }) => {
        seen.push(progress)
        if (progress === 2) leaving.abort()
      },
    })
    await expect(call).rejects.toThrow()
    expect(seen).toEqual([1, 2])
    await upstream.next((each) => each.what === 'aborted')
  })

  it('case 41: its Authorization reaches the server, unless forwardHeaders leaves it out', async () => {
    const { upstream, url } = await start()
    await connectSdk(url, transportOf(mode), { authorization: 'Bearer old' })
    expect((await upstream.next((each) => each.what === 'opened')).authorization).toBe('Bearer old')
    const other = await startGateway(upstream.url, 'routes.0.upstream.forwardHeaders=[]')
    await connectSdk(other.url, transportOf(mode), { authorization: 'Bearer old' })
    expect((await upstream.next((each) => each.what === 'opened')).authorization).toBeUndefined()
  })

  it('a server that goes away in the middle of a call ends it', async () => {
    const { upstream, url } = await start()
    const { client } = await connectSdk(url, transportOf(mode))
    const lost = new Promise<void>((resolve) => {
      client.onerror = () => resolve()
      client.onclose = () => resolve()
    })
    const call = client.callTool({ name: 'slow', arguments: { key: 'never' } }).catch(() => undefined)
    await upstream.next((each) => each.what === 'call')
    await upstream.close()
    await lost
    await client.close()
    await call
  })
})
