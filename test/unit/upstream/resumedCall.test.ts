import { describe, expect, it } from 'vitest'
import { type RawRequest, type RawUpstreamOptions, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { connect } from './connect.ts'

const responseTo = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result: {} })
const event = (id: string, data = ''): string => `id: ${id}\nevent: message\ndata: ${data}\n\n`
const isResumption = (each: RawRequest): boolean =>
  each.verb === 'GET' && each.headers['last-event-id'] !== undefined

/** An upstream whose resumed streams the test answers. */
async function start(
  resumed: (request: RawRequest, count: number) => void,
  options: RawUpstreamOptions = {},
) {
  let count = 0
  const raw = await startRawUpstream({
    stream: false,
    script(request) {
      if (!isResumption(request)) return false
      count += 1
      resumed(request, count)
      return true
    },
    ...options,
  })
  const ours = connect(raw.url)
  const { session } = await ours.lease()
  const sent = ours.call(session)
  const request = await raw.method('tools/call')
  request.begin()
  return { raw, sent, request, ours }
}

describe('L-HTTP-04: a call’s stream that ends before its response', () => {
  it('is taken up again after the last event, with the session’s headers', async () => {
    const { raw, sent, request } = await start((resumed) => {
      resumed.begin()
      resumed.write(event('3', responseTo(request.id)))
      resumed.end()
    })
    request.write(event('1'))
    request.write(event('2', '{"jsonrpc":"2.0","method":"notifications/vendor"}'))
    request.end()
    expect(await sent.response()).toMatchObject({ result: {} })
    const resumptions = raw.all(isResumption)
    expect(resumptions).toHaveLength(1)
    expect(resumptions[0]?.headers).toMatchObject({
      'last-event-id': '2',
      'mcp-session-id': 'raw-session-1',
      authorization: 'Bearer a',
      accept: 'text/event-stream',
    })
    expect(sent.ears.notifications.map((each) => each.notification.method)).toEqual(['notifications/vendor'])
  })

  it('also when it breaks', async () => {
    const { sent, request } = await start((resumed) => {
      resumed.begin()
      resumed.write(event('2', responseTo(request.id)))
    })
    request.write(event('1'))
    request.write(event('1b', '{"jsonrpc":"2.0","method":"notifications/vendor"}'))
    await sent.ears.when(() => sent.ears.notifications.length === 1)
    request.kill()
    expect(await sent.response()).toMatchObject({ result: {} })
  })

  it('after the wait that the upstream asked for', async () => {
    const { sent, request } = await start((resumed) => {
      waitedMs = performance.now() - endedMs
      resumed.begin()
      resumed.write(event('2', responseTo(request.id)))
    })
    let waitedMs = 0
    request.write(`retry: 250\n${event('1')}`)
    const endedMs = performance.now()
    request.end()
    await sent.response()
    expect(waitedMs).toBeGreaterThan(200)
  })

  it('as often as the upstream lets go, while each stream moves on', async () => {
    const { raw, sent, request } = await start((resumed, count) => {
      resumed.begin()
      resumed.write(count < 6 ? `retry: 1\n${event(`s${count}`)}` : event('last', responseTo(request.id)))
      resumed.end()
    })
    request.write(`retry: 1\n${event('s0')}`)
    request.end()
    await sent.response()
    expect(raw.all(isResumption).map((each) => each.headers['last-event-id'])).toEqual([
      's0',
      's1',
      's2',
      's3',
      's4',
      's5',
    ])
  })

  it.each<[string, (resumed: RawRequest) => void]>([
    [
      'streams that bring nothing',
      (resumed) => {
        resumed.begin()
        resumed.end()
      },
    ],
    [
      'streams that begin with the same id',
      (resumed) => {
        resumed.begin()
        resumed.write(event('1'))
        resumed.end()
      },
    ],
    ['broken connections', (resumed) => resumed.kill()],
  ])('is given up soon after %s', async (_name, resume) => {
    const { raw, sent, request } = await start(resume)
    request.write(`retry: 5\n${event('1')}`)
    request.end()
    expect(await sent.failure()).toMatchObject({
      error: { reason: 'upstream_closed' },
      notRun: false,
      lost: false,
    })
    expect(raw.all(isResumption)).toHaveLength(3)
  })

  it.each([404, 405, 400])('cases 24: is given up when the upstream answers %i', async (status) => {
    const { raw, sent, request } = await start((resumed) => resumed.status(status))
    request.write(event('1'))
    request.end()
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_closed' }, lost: false })
    expect(raw.all(isResumption)).toHaveLength(1)
  })

  it('is not asked for without an event id, nor with one that was taken back', async () => {
    const { raw, sent, request } = await start(() => undefined)
    request.write(event('1'))
    request.write('id:\ndata:\n\n')
    request.end()
    await sent.failure()
    expect(raw.all(isResumption)).toHaveLength(0)
  })

  it('is not asked for after rubbish', async () => {
    const { raw, sent, request } = await start(() => undefined)
    request.write(event('1', 'rubbish'))
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_protocol' } })
    expect(raw.all(isResumption)).toHaveLength(0)
  })

  it('is not asked for once the call was dropped, nor after its response', async () => {
    const { raw, sent, request, ours } = await start(() => undefined)
    request.write(event('1', responseTo(request.id)))
    await sent.response()
    request.end()
    const { session } = await ours.lease()
    const second = ours.call(session)
    const next = await raw.method('tools/call')
    next.begin()
    next.write(`retry: 5\n${event('1', '{"jsonrpc":"2.0","method":"notifications/vendor"}')}`)
    await second.ears.when(() => second.ears.notifications.length === 1)
    second.drop()
    await next.closed
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(raw.all(isResumption)).toHaveLength(0)
  })
})
