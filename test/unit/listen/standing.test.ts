import { describe, expect, it, onTestFinished } from 'vitest'
import { createFeed } from '../../../src/listen/feed.ts'
import type { Filter } from '../../../src/listen/filter.ts'
import { reduce } from '../../../src/mcp/capabilities.ts'
import { loadOptions } from '../../../src/options/load.ts'
import { createUpstream } from '../../../src/upstream/upstream.ts'
import { at } from '../../fixtures/json.ts'
import { ANNOUNCING, subscribing } from '../../fixtures/listener.ts'
import { type RawRequest, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { createManualClock } from '../http/manualClock.ts'

const TOOLS: Filter = { lists: new Set(['tools'] as const), uris: new Set() }
const RESOURCE: Filter = { lists: new Set(['tools'] as const), uris: new Set(['a:1']) }

/** A feed on a raw upstream, under a clock of the test's; `script` sees requests first. */
async function start(script: (request: RawRequest) => boolean | undefined = subscribing) {
  const clock = createManualClock()
  const raw = await startRawUpstream({ transport: 'sse', capabilities: ANNOUNCING, script })
  const options = loadOptions({ env: {}, flags: { upstream: raw.url, set: [] } })
  const [route] = options.routes
  if (route === undefined) throw new Error('no route')
  const upstream = createUpstream(route, clock, () => undefined)
  let over = 0
  const heard: string[] = []
  const ear = {
    changed: (change: { of: string }) => void heard.push(change.of),
  }
  const want = {
    context: 'context',
    key: 'key',
    principal: 'principal',
    capabilities: reduce({}),
    credentials: { authorization: 'Bearer a' },
    once: false,
  }
  const feed = createFeed({ upstream, want, clock, onOver: () => void over++, onEmpty: () => undefined })
  onTestFinished(async () => {
    feed.close()
    await upstream.close()
    expect(clock.pending()).toBe(0)
  })
  return { clock, raw, upstream, feed, ear, heard, over: () => over }
}

describe('the session of those who listen', () => {
  it('is asked for again with growing pauses, and given up after five minutes', async () => {
    let down = false
    const { clock, raw, upstream, feed, ear, over } = await start((request) => {
      if (down && request.verb === 'GET') request.status(503)
      return down
    })
    await feed.join(ear, TOOLS)
    down = true
    raw.stream()?.kill()
    await expect.poll(() => upstream.counts().shared).toBe(0)
    const tries = () => raw.all((each) => each.verb === 'GET').length - 1
    clock.advance(250)
    await expect.poll(tries).toBe(1)
    await expect
      .poll(
        () => {
          clock.advance(upstream.counts().opening === 0 ? 5_000 : 0)
          return over()
        },
        { timeout: 10_000, interval: 20 },
      )
      .toBe(1)
    expect(tries()).toBeGreaterThan(8)
    expect(tries()).toBeLessThan(40)
  })

  it.each([401, 403])('A-04: %i when it is opened again ends the feed', async (status) => {
    let refuses = false
    const { clock, raw, upstream, feed, ear, over } = await start((request) => {
      if (refuses && request.verb === 'GET') request.status(status)
      return refuses
    })
    await feed.join(ear, TOOLS)
    refuses = true
    raw.stream()?.kill()
    await expect.poll(() => upstream.counts().shared).toBe(0)
    clock.advance(250)
    await expect.poll(over).toBe(1)
  })

  it('A-04: the upstream is shown the credentials once a minute, and a refusal ends the feed', async () => {
    let refuses = false
    const { clock, raw, feed, ear, over } = await start((request) => {
      if (request.method !== 'ping') return subscribing(request)
      if (refuses) request.status(401)
      else request.error({ code: -32601, message: 'no ping here' })
      return true
    })
    await feed.join(ear, TOOLS)
    const pings = () => raw.all((each) => each.method === 'ping')
    /** Lets time pass in steps that leave the upstream time to answer. */
    const pass = (): number => {
      clock.advance(5_000)
      return pings().length
    }
    clock.advance(59_999)
    expect(pings()).toEqual([])
    await expect.poll(pass, { timeout: 5_000 }).toBe(2)
    expect(pings()[0]?.headers.authorization).toBe('Bearer a')
    expect(over()).toBe(0)
    refuses = true
    await expect.poll(() => pass() && over(), { timeout: 5_000 }).toBe(1)
  })

  it('M-SUB-01: an upstream that does not answer holds nobody up for longer than five seconds', async () => {
    const { clock, raw, feed, ear } = await start((request) => {
      if (request.method?.startsWith('resources/') !== true) return false
      request.status(202)
      return true
    })
    const joined = feed.join(ear, RESOURCE)
    const subscribe = await raw.method('resources/subscribe')
    clock.advance(5_000)
    const honoured = await joined
    expect([[...honoured.lists], [...honoured.uris]]).toEqual([['tools'], []])
    // Nobody knows whether it was taken.
    const unsubscribe = await raw.method('resources/unsubscribe')
    expect(at(unsubscribe.message, 'params', 'uri')).toBe(at(subscribe.message, 'params', 'uri'))
  })

  it('is given back by the last who leaves', async () => {
    const { upstream, feed, ear } = await start()
    await feed.join(ear, RESOURCE)
    expect(upstream.counts()).toMatchObject({ shared: 1, idle: 0 })
    feed.leave(ear)
    await expect.poll(() => upstream.counts()).toMatchObject({ shared: 0, idle: 1 })
  })
})
