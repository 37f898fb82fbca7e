import { expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { ABLE, answersTo, keysOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const RESULT = { content: [{ type: 'text', text: 'done' }] }
const question = (id: number | string) => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: {
    message: 'which?',
    requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
  },
})

it('cases 6: what a session counts is its caller’s alone', async () => {
  const upstream = await startLegacySdk('post')
  const { url } = await startGateway(upstream.url)
  const count = async (authorization: string) =>
    firstText((await rawCall(url, toolCall('count', {}, { authorization }))).result)
  const first = await count('Bearer one')
  expect(await count('Bearer two')).toBe(first)
  expect(await count('Bearer one')).not.toBe(first)
  expect(upstream.sessions).toHaveLength(2)
})

it('comes back to the session that was opened first, after parallel calls too', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url)
  const calls = [startCall(url, toolCall('a')), startCall(url, toolCall('b'))]
  const up = [await upstream.method('tools/call'), await upstream.method('tools/call')]
  for (const each of up) each.result(RESULT)
  await Promise.all(calls.map((call) => call.answer))
  for (let i = 0; i < 3; i += 1) {
    const call = startCall(url, toolCall('again'))
    const request = await upstream.method('tools/call')
    expect(request.session).toBe(upstream.sessions[0])
    request.result(RESULT)
    await call.answer
  }
})

it('reuse: false gives every call a session of its own, and ends it', async () => {
  const upstream = await startRawUpstream()
  const { url, close } = await startGateway(upstream.url, 'routes.0.sessions.reuse=false')
  for (let i = 0; i < 2; i += 1) {
    const call = startCall(url, toolCall('any', {}, { capabilities: i === 0 ? ABLE : {} }))
    const request = await upstream.method('tools/call')
    expect(request.session).toBe(upstream.sessions[i])
    request.result(RESULT)
    await call.answer
    const ended = await upstream.next((each) => each.verb === 'DELETE')
    expect(ended.session).toBe(upstream.sessions[i])
  }
  await close()
})

it('anonymous: isolate keeps callers without credentials apart, not those with', async () => {
  const upstream = await startRawUpstream()
  const { url } = await startGateway(upstream.url, 'routes.0.sessions.anonymous=isolate')
  const call = async (authorization?: string) => {
    const started = startCall(url, toolCall('any', {}, authorization === undefined ? {} : { authorization }))
    const request = await upstream.method('tools/call')
    request.result(RESULT)
    await started.answer
    return request.session
  }
  expect(await call()).not.toBe(await call())
  expect(await call('Bearer one')).toBe(await call('Bearer one'))
})

it('a bridge that sends every question to all sessions: the leased one asks, an idle one keeps still', async () => {
  const upstream = await startRawUpstream({ transport: 'sse' })
  const { url } = await startGateway(upstream.url)
  // Two sessions, both idle again.
  const calls = [startCall(url, toolCall('a')), startCall(url, toolCall('b'))]
  const both = [await upstream.method('tools/call'), await upstream.method('tools/call')]
  for (const each of both) each.result(RESULT)
  await Promise.all(calls.map((call) => call.answer))
  expect(upstream.sessions).toHaveLength(2)

  const asking = startCall(url, toolCall('ask'))
  const request = await upstream.method('tools/call')
  for (const session of upstream.sessions) upstream.say(question(7), session)
  const round = await asking.answer
  expect(keysOf(round)).toHaveLength(1)
  const retry = startCall(url, retryOf(toolCall('ask'), round, answersTo(round)))
  const answer = await upstream.answer(7)
  expect(JSON.parse(answer.body.toString()).result.action).toBe('accept')
  request.result(RESULT)
  expect(firstText((await retry.answer).result)).toBe('done')
  expect(upstream.all((each) => each.id === 7)).toHaveLength(1)

  // From now on one call at a time can be asked: the second waits for the first.
  const one = startCall(url, toolCall('one'))
  const first = await upstream.method('tools/call')
  const two = startCall(url, toolCall('two'))
  const plain = startCall(url, toolCall('plain', {}, { capabilities: {} }))
  const third = await upstream.method('tools/call')
  expect(third.body.toString()).toContain('plain')
  third.result(RESULT)
  await plain.answer
  expect(upstream.all((each) => each.body.toString().includes('"two"'))).toHaveLength(0)
  first.result(RESULT)
  const second = await upstream.method('tools/call')
  expect(second.body.toString()).toContain('two')
  second.result(RESULT)
  await Promise.all([one.answer, two.answer])
})
