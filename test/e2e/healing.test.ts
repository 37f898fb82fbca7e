import { expect, it, onTestFinished } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { listening } from '../fixtures/listening.ts'
import { ABLE, answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { type RawRequest, type RawUpstream, startRawUpstream } from '../fixtures/rawUpstream.ts'

const RESULT = { content: [{ type: 'text', text: 'done' }] }
const roots = (id: number | string) => ({ jsonrpc: '2.0', id, method: 'roots/list' })
const form = (id: number | string, message = 'which?') => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } } },
})

/** Forgets every session but those opened later. */
function forgetful() {
  const forgotten = new Set<string>()
  return {
    forget: (upstream: RawUpstream) => upstream.sessions.forEach((each) => void forgotten.add(each)),
    script(request: RawRequest): boolean {
      if (request.verb === 'DELETE' || request.session === undefined || !forgotten.has(request.session))
        return false
      request.status(404)
      return true
    },
  }
}

async function finish(upstream: RawUpstream, call: ReturnType<typeof startCall>) {
  const sent = (each: RawRequest) => each.method === 'tools/call' && each.session === upstream.sessions.at(-1)
  ;(await upstream.next(sent)).result(RESULT)
  return firstText((await call.answer).result)
}

it.each([
  ['leased', ABLE],
  ['shared', {}],
])(
  'cases 2: a %s session that is gone is replaced, and the call that did not run is sent again',
  async (_name, capabilities) => {
    const { forget, script } = forgetful()
    const upstream = await startRawUpstream({ script })
    const { url } = await startGateway(upstream.url)
    expect(await finish(upstream, startCall(url, toolCall('one', {}, { capabilities })))).toBe('done')
    forget(upstream)
    const call = startCall(url, toolCall('two', {}, { capabilities }))
    const again = await upstream.next(
      (each) => each.method === 'tools/call' && each.session === upstream.sessions[1],
    )
    again.result(RESULT)
    expect(firstText((await call.answer).result)).toBe('done')
    expect(upstream.sessions).toHaveLength(2)
  },
)

it('cases 10: a session that replaced a dead one is told roots before the call too', async () => {
  const { forget, script } = forgetful()
  const upstream = await startRawUpstream({
    script(request) {
      if (request.method === 'notifications/initialized') upstream.say(roots('r'), request.session)
      return script(request)
    },
  })
  const { url } = await startGateway(upstream.url)
  const tell = async () => {
    const round = await rawCall(url, toolCall('any'))
    expect(keysOf(round)).toEqual(['r'])
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('r')
    expect(await finish(upstream, retry)).toBe('done')
  }
  await tell()
  forget(upstream)
  await tell()
  expect(upstream.sessions).toHaveLength(2)
})

it('cases 2: a session that answers 503 is not used again', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const call = startCall(url, toolCall('one', {}, { capabilities: {} }))
  ;(await upstream.method('tools/call')).status(503)
  expect((await call.answer).status).toBe(502)
  expect(await finish(upstream, startCall(url, toolCall('two', {}, { capabilities: {} })))).toBe('done')
  expect(upstream.sessions).toHaveLength(2)
})

it('a 202 whose response comes on the GET stream later is waited for', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const call = startCall(url, toolCall('any'))
  const request = await upstream.method('tools/call')
  request.status(202)
  // Longer than a stream may have ended without its response.
  await new Promise((resolve) => setTimeout(resolve, 700))
  upstream.say({ jsonrpc: '2.0', id: request.id as number, result: RESULT })
  expect(firstText((await call.answer).result)).toBe('done')
})

it('cases 42: several challenges of the upstream all pass', async () => {
  const server = await listening((_request, response) => {
    response.writeHead(401, { 'www-authenticate': ['Basic realm="a"', 'Bearer scope="b"'] }).end()
  })
  onTestFinished(server.close)
  const { url } = await startGateway(`${server.origin}/mcp`, 'routes.0.upstream.era=legacy')
  const refused = await rawCall(url, toolCall('any'))
  expect(refused.status).toBe(401)
  expect(refused.headers['www-authenticate']).toBe('Basic realm="a", Bearer scope="b"')
})

it('design §4.9: a retry that is refused changes nothing for the call that runs', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const first = startCall(url, toolCall('ask'))
  const request = await upstream.method('tools/call')
  request.say(form('q1'))
  const round = await first.answer
  const running = startCall(url, retryOf(toolCall('ask'), round, answersTo(round)))
  await upstream.answer('q1')
  const other = { ...retryOf(toolCall('ask'), round, answersTo(round, 'other')), capabilities: {} }
  expect((await rawCall(url, other)).error).toMatchObject({ data: { reason: 'invalid_request_state' } })
  request.say(form('q2'))
  const next = await running.answer
  expect(keysOf(next)).toEqual(['q2'])
  const last = startCall(url, retryOf(toolCall('ask'), next, answersTo(next)))
  await upstream.answer('q2')
  request.result(RESULT)
  expect(firstText((await last.answer).result)).toBe('done')
})

it('X-SRQ-13: a list that waits for roots on the shared stream is told that there are none', async () => {
  const upstream = await startRawUpstream({ capabilities: { tools: {} } })
  const { url } = await startGateway(upstream.url)
  const list = startCall(url, { method: 'tools/list', params: {}, capabilities: ABLE })
  const request = await upstream.method('tools/list')
  upstream.say(roots('r'), request.session)
  expect((await upstream.answer('r')).message?.error).toMatchObject({ code: -32601 })
  request.result({ tools: [] })
  expect((await list.answer).status).toBe(200)
})

it('design §4.10: where the upstream keeps no sessions, two callers cannot be told apart on GET streams', async () => {
  const upstream = await startRawUpstream({ sessionIds: false })
  const { url } = await startGateway(upstream.url)
  const calls = ['u', 'v'].map((authorization) =>
    startCall(url, toolCall('ask', { authorization }, { authorization })),
  )
  const requests = [await upstream.method('tools/call'), await upstream.method('tools/call')]
  for (const each of upstream.all((request) => request.verb === 'GET')) each.say(form('q'))
  expect((await upstream.answer('q')).message?.error).toMatchObject({ code: -32601 })
  for (const each of requests) each.result(RESULT)
  for (const call of calls) expect(firstText((await call.answer).result)).toBe('done')
})

it('cases 48: a shared session that broke the protocol is left by the next call while another one runs on it', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const plain = (name: string) => startCall(url, toolCall(name, {}, { capabilities: {} }))
  const slow = plain('slow')
  const running = await upstream.method('tools/call')
  const broken = plain('broken')
  ;(await upstream.method('tools/call')).result('5')
  expect((await broken.answer).error).toMatchObject({ data: { reason: 'upstream_protocol' } })
  const next = plain('next')
  ;(await upstream.next((each) => each.method === 'tools/call' && each.session !== running.session)).result(
    RESULT,
  )
  expect(firstText((await next.answer).result)).toBe('done')
  expect(upstream.sessions).toHaveLength(2)
  running.result(RESULT)
  expect(firstText((await slow.answer).result)).toBe('done')
})

it('A-05: the challenge of the older transport passes too', async () => {
  const server = await listening((request, response) => {
    if (request.method === 'GET') response.writeHead(401, { 'www-authenticate': 'Bearer scope="x"' }).end()
    else response.writeHead(405).end()
  })
  onTestFinished(server.close)
  const { url } = await startGateway(`${server.origin}/mcp`, 'routes.0.upstream.era=legacy')
  const refused = await rawCall(url, toolCall('any'))
  expect(refused.status).toBe(401)
  expect(refused.headers['www-authenticate']).toBe('Bearer scope="x"')
})
