import { describe, expect, it } from 'vitest'
import { frame, heard, type RawRequest, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { connect, createEars } from './connect.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const RESULT = { content: [] }
const responseTo = (id: unknown, result: object = RESULT): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result })

async function start(...given: Parameters<typeof startRawUpstream>) {
  const upstream = await startRawUpstream(...given)
  const ours = connect(upstream.url)
  const { session, release } = await ours.lease()
  return { raw: upstream, session, release, ...ours }
}

describe('a response finds its call', () => {
  it.each<[string, (request: RawRequest) => void]>([
    ['JSON', (request) => request.status(200, responseTo(request.id), JSON_TYPE)],
    ['JSON in an array of one', (request) => request.status(200, `[${responseTo(request.id)}]`, JSON_TYPE)],
    ['JSON with null for its id', (request) => request.status(200, responseTo(null), JSON_TYPE)],
    ['JSON with another id', (request) => request.status(200, responseTo('other'), JSON_TYPE)],
    ['an event', (request) => request.say(responseTo(request.id))],
    ['an event with the id as text', (request) => request.say(responseTo(String(request.id)))],
    [
      'an event among others, with CRLF',
      (request) => {
        request.begin()
        request.write(`: x\r\n\r\nevent: odd\r\ndata: x\r\n\r\ndata: ${responseTo(request.id)}\r\n\r\n`)
      },
    ],
    [
      'an array with another message before it',
      (request) =>
        request.say(`[{"jsonrpc":"2.0","method":"notifications/vendor"},${responseTo(request.id)}]`),
    ],
  ])('design §4.12: %s', async (_name, answer) => {
    const { raw, session, call } = await start()
    const sent = call(session)
    answer(await raw.method('tools/call'))
    expect(await sent.response()).toMatchObject({ result: RESULT })
  })

  it('L-BASE-04, L-HTTP-11: an event with an id that nobody waits for is nobody’s', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.say('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"whose?"}}')
    request.say(responseTo(999_999))
    request.say(responseTo(request.id, { mine: true }))
    expect(await sent.response()).toMatchObject({ result: { mine: true } })
  })

  it('L-HTTP-11: a response on another call’s stream goes to its own call', async () => {
    const { raw, session, call } = await start()
    const first = call(session, 'tools/list')
    const second = call(session, 'prompts/list')
    const one = await raw.method('tools/list')
    const two = await raw.method('prompts/list')
    one.say(responseTo(two.id, { two: true }))
    one.say(responseTo(one.id, { one: true }))
    expect(await first.response()).toMatchObject({ result: { one: true } })
    expect(await second.response()).toMatchObject({ result: { two: true } })
  })

  it('L-HTTP-06: on both streams, the first counts', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    raw.say(responseTo(request.id, { first: true }))
    expect(await sent.response()).toMatchObject({ result: { first: true } })
    request.say(responseTo(request.id, { second: true }))
    // The call's outcome is told once (the helper asserts it), and its POST is let go.
    await request.closed
  })

  it('cases 23: a stream that ends without it fails the call within a second', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.say({ jsonrpc: '2.0', method: 'notifications/vendor' })
    const sinceMs = performance.now()
    request.end()
    expect(await sent.failure()).toMatchObject({
      error: { reason: 'upstream_closed' },
      notRun: false,
      lost: false,
    })
    expect(performance.now() - sinceMs).toBeLessThan(1_000)
  })

  it('a response that comes on the GET stream shortly after that still counts', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.status(202)
    await request.closed
    raw.say(responseTo(request.id))
    expect(await sent.response()).toMatchObject({ result: RESULT })
  })

  it.each([
    ['no JSON', '{'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":1}'],
    ['an empty array', '[]'],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}'],
  ])('cases 48: a body that is %s fails the call and retires the session', async (_name, body) => {
    const { raw, session, call } = await start()
    const sent = call(session)
    ;(await raw.method('tools/call')).status(200, body, JSON_TYPE)
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_protocol' }, fault: true })
    expect(session.retired()).toBe(true)
  })

  it('design §5.4: a call whose connection breaks is never sent again', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    ;(await raw.method('tools/call')).kill()
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_closed' }, notRun: false })
    expect(raw.all((each) => each.method === 'tools/call')).toHaveLength(1)
  })

  it('a dropped call hears nothing more, and its POST is closed', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.begin()
    sent.drop()
    await request.closed
    raw.say(responseTo(request.id))
    await heard(raw, raw.stream() ?? request)
    expect(session.inFlight()).toBe(0)
  })
})

describe('a refused call (X-ERR-09)', () => {
  it('L-HTTP-08: 404 means that the session is gone and that nothing ran', async () => {
    const { raw, session, call, upstream } = await start()
    const sent = call(session)
    ;(await raw.method('tools/call')).status(404)
    expect(await sent.failure()).toMatchObject({ notRun: true, lost: true })
    expect(upstream.counts()).toMatchObject({ leased: 0, idle: 0 })
    const late = call(session)
    expect(await late.failure()).toMatchObject({ notRun: true, lost: true })
    expect(raw.all((each) => each.method === 'tools/call')).toHaveLength(1)
  })

  it('cases 2: an error that only says in its text that the session is gone passes, and retires it', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    ;(await raw.method('tools/call')).error({ code: -32000, message: 'Invalid session' })
    expect(await sent.response()).toMatchObject({ error: { message: 'Invalid session' } })
    expect(session.retired()).toBe(true)
  })

  it('an upstream that cannot be reached: it did not run', async () => {
    const { raw, session, call } = await start({ stream: false })
    await raw.close()
    // Until the end of the idle socket has been noticed.
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await call(session).failure()).toMatchObject({
      error: { reason: 'upstream_unreachable' },
      notRun: true,
    })
  })
})

describe('what else comes', () => {
  it('design §4.2: a question on the call’s own stream is that call’s, one on the GET stream the holder’s', async () => {
    const { raw, session, call } = await start()
    const holder = createEars()
    session.attach(holder.holder)
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.say({ jsonrpc: '2.0', id: 'own', method: 'roots/list' })
    await sent.ears.when(() => sent.ears.questions.length === 1)
    raw.say({ jsonrpc: '2.0', id: 'shared', method: 'roots/list' })
    await holder.when(() => holder.questions.length === 1)
    expect(sent.ears.questions[0]).toMatchObject({ request: { id: Buffer.from('"own"') }, own: true })
    expect(holder.questions[0]).toMatchObject({ request: { id: Buffer.from('"shared"') }, own: false })
    request.result(JSON.stringify(RESULT))
    await sent.response()
  })

  it('design §4.3: on a shared session a question is attributed if one call alone is in flight', async () => {
    const { raw, session, call } = await start()
    const first = call(session, 'tools/list')
    await raw.method('tools/list')
    raw.say({ jsonrpc: '2.0', id: 'one', method: 'elicitation/create' })
    await first.ears.when(() => first.ears.questions.length === 1)
    const second = call(session, 'prompts/list')
    await raw.method('prompts/list')
    raw.say({ jsonrpc: '2.0', id: 'two', method: 'elicitation/create' })
    const refused = await raw.answer('two')
    expect(refused.message).toMatchObject({ error: { code: -32601 } })
    expect([first.ears.questions.length, second.ears.questions.length]).toEqual([1, 0])
  })

  it('a question on the stream of a call that is over is refused, and not the next holder’s', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.say(responseTo(request.id))
    await sent.response()
    const next = createEars()
    session.attach(next.holder)
    request.say({ jsonrpc: '2.0', id: 'late', method: 'elicitation/create' })
    request.say({ jsonrpc: '2.0', id: 'p', method: 'ping' })
    await raw.answer('p')
    expect((await raw.answer('late')).message).toMatchObject({ error: { code: -32601 } })
    expect(next.questions).toHaveLength(0)
  })

  it('progress finds its call on any stream by our token, and is dropped without one', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    const progress = (token: unknown): object => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: token, progress: 1 },
    })
    const stream = raw.stream()
    stream?.write(
      Buffer.concat([undefined, 'x', null, sent.id].map((token) => frame(JSON.stringify(progress(token))))),
    )
    await sent.ears.when(() => sent.ears.notifications.length > 0)
    if (stream) await heard(raw, stream)
    expect(sent.ears.notifications.map((each) => each.own)).toEqual([false])
    request.result('{}')
    await sent.response()
  })

  it('X-CAN-02: the upstream takes a question back; without requestId nothing happens', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    const request = await raw.method('tools/call')
    request.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: {} })
    request.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q' } })
    await sent.ears.when(() => sent.ears.withdrawn.length > 0)
    expect(sent.ears.withdrawn).toEqual(['"q"'])
  })

  it('rubbish on the GET stream loses the session and every call on it', async () => {
    const { raw, session, call } = await start()
    const sent = call(session)
    await raw.method('tools/call')
    raw.say('rubbish')
    expect(await sent.failure()).toMatchObject({ error: { reason: 'upstream_protocol' }, lost: true })
  })
})
