import { describe, expect, it } from 'vitest'
import { type RawRequest, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { connect } from './connect.ts'

const ID = Buffer.from('"q"')
const PAYLOAD = Buffer.from('"result":{"roots":[]}')
const isAnswer = (each: RawRequest): boolean => each.id === 'q'

/** A session whose upstream meets each answer by the next of these. */
async function start(...verdicts: ((request: RawRequest) => void)[]) {
  const raw = await startRawUpstream({
    script(request) {
      if (!isAnswer(request)) return false
      const verdict = verdicts.shift()
      verdict?.(request)
      return verdict !== undefined
    },
  })
  const ours = connect(raw.url)
  const { session, release } = await ours.lease()
  const answers = (): RawRequest[] => raw.all(isAnswer)
  return { raw, session, release, answers, ...ours }
}

describe('answers (X-ANS, design §5.4)', () => {
  it('X-ANS-01: go as a response with the question’s id, to the byte', async () => {
    const { session, answers } = await start()
    await session.answer(Buffer.from('1.0'), Buffer.from('"result":{"a":9007199254740993}'))
    await session.answer(ID, PAYLOAD, { authorization: 'Bearer b' })
    const [last] = answers()
    expect(last?.body.toString()).toBe('{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}')
    expect(last?.headers).toMatchObject({
      authorization: 'Bearer b',
      'mcp-session-id': 'raw-session-1',
      accept: 'application/json, text/event-stream',
    })
  })

  it('L-HTTP-01: are accepted by any 2xx, even while its body goes on', async () => {
    const { session } = await start((request) => {
      request.begin()
      request.write('data: {{{\n\n')
    })
    await session.answer(ID, PAYLOAD)
  })

  it('are posted again, twice, when the connection breaks before a head', async () => {
    const kill = (request: RawRequest): void => request.kill()
    const { session, answers } = await start(kill, kill)
    await session.answer(ID, PAYLOAD)
    expect(answers()).toHaveLength(3)
  })

  it('and no more than that', async () => {
    const kill = (request: RawRequest): void => request.kill()
    const { session, answers } = await start(kill, kill, kill)
    await expect(session.answer(ID, PAYLOAD)).rejects.toMatchObject({ reason: 'upstream_closed' })
    expect(answers()).toHaveLength(3)
  })

  it('go through on a socket that the upstream has closed meanwhile; so do cancellations', async () => {
    const { raw, session } = await start()
    raw.all((each) => each.method === 'notifications/initialized')[0]?.kill()
    await session.notify(Buffer.from('{"jsonrpc":"2.0","method":"notifications/cancelled"}'))
    await raw.method('notifications/cancelled')
  })

  it.each([401, 403])('X-ANS-09, A-05: %i leaves the question open', async (status) => {
    const { session, answers } = await start((request) =>
      request.status(status, '', { 'www-authenticate': 'Bearer' }),
    )
    await expect(session.answer(ID, PAYLOAD)).rejects.toMatchObject({ status, challenge: 'Bearer' })
    expect([session.retired(), answers().length]).toEqual([false, 1])
    await session.answer(ID, PAYLOAD)
  })

  it.each([
    [404, '', 'upstream_closed', true],
    [400, 'Session not found', 'upstream_closed', true],
    [400, 'no', 'upstream_protocol', false],
    [503, '', 'upstream_unreachable', false],
  ])('X-ANS-09: %i %s is %s', async (status, text, reason, retired) => {
    const { session, answers } = await start((request) => request.status(status, text))
    await expect(session.answer(ID, PAYLOAD)).rejects.toMatchObject({ reason })
    expect([session.retired(), answers().length]).toEqual([retired, 1])
  })

  it('fail with the session, whatever they wait for', async () => {
    const { raw, session, release } = await start(() => undefined)
    const answered = expect(session.answer(ID, PAYLOAD)).rejects.toMatchObject({ reason: 'upstream_closed' })
    await raw.next(isAnswer)
    release(false)
    await answered
    await expect(session.answer(ID, PAYLOAD)).rejects.toMatchObject({ reason: 'upstream_closed' })
    await session.notify(Buffer.from('{}'))
  })
})
