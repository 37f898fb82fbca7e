import { describe, expect, it } from 'vitest'
import { type RawRequest, type RawUpstream, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { connect } from './connect.ts'

const VENDOR = '{"jsonrpc":"2.0","method":"notifications/vendor"}'
const PING = { jsonrpc: '2.0', id: 'p', method: 'ping' }

const gets = (raw: RawUpstream): RawRequest[] => raw.all((each) => each.verb === 'GET')

/** A session with a stream; `again` answers every later GET of it. */
async function start(again: (request: RawRequest, count: number) => void) {
  let count = 0
  const raw = await startRawUpstream({
    script(request) {
      if (request.verb !== 'GET') return false
      count += 1
      if (count === 1) return false
      again(request, count - 1)
      return true
    },
  })
  const ours = connect(raw.url)
  const lease = await ours.lease()
  const stream = raw.stream()
  if (stream === undefined) throw new Error('no stream')
  await raw.next((each) => each === stream)
  return { raw, stream, ...lease, ours }
}

/** Resolves when the session's end is told upstream. */
const ended = (raw: RawUpstream): Promise<RawRequest> => raw.next((each) => each.verb === 'DELETE')

describe('a standing stream that drops', () => {
  it('is opened again after the wait and the event that the upstream named', async () => {
    const { raw, stream, session } = await start((request) => {
      request.begin()
      request.say(PING)
    })
    stream.write(`retry: 20\nid: 7\ndata: ${VENDOR}\n\n`)
    stream.end()
    await raw.answer('p')
    expect(gets(raw)[1]?.headers['last-event-id']).toBe('7')
    expect([session.listening(), session.retired()]).toEqual([true, false])
  })

  it('is opened again when it breaks', async () => {
    const { raw, stream } = await start((request) => {
      request.begin()
      request.say(PING)
    })
    stream.kill()
    await raw.answer('p')
  })

  it.each([405, 404, 400])('cannot be had again, %i: the session is retired', async (status) => {
    const { raw, stream, release, session } = await start((request) => request.status(status))
    stream.write(`retry: 5\ndata: ${VENDOR}\n\n`)
    stream.end()
    await raw.next((each) => each.verb === 'GET' && each !== stream)
    release(true)
    await ended(raw)
    expect([session.retired(), gets(raw).length]).toEqual([true, 2])
  })

  it('cases 29: is asked for again where the upstream believes that it is still open', async () => {
    const { raw, stream, session } = await start((request, count) => {
      if (count < 3) request.status(409)
      else {
        request.begin()
        request.say(PING)
      }
    })
    stream.write(`retry: 5\n\n`)
    stream.end()
    await raw.answer('p')
    expect([session.retired(), gets(raw).length]).toEqual([false, 4])
  })

  it('is given up when it ends at once thrice, with nothing ever said: calls still work', async () => {
    const raw = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'GET') return false
        request.begin()
        request.write('retry: 5\n\n')
        request.end()
        return true
      },
    })
    const { lease, call } = connect(raw.url)
    const { session } = await lease()
    for (let count = 0; count < 3; count += 1) await raw.next((each) => each.verb === 'GET')
    const sent = call(session)
    ;(await raw.method('tools/call')).result('{}')
    await sent.response()
    expect([session.listening(), session.retired(), gets(raw).length]).toEqual([false, false, 3])
  })

  it('that ends at once thrice after it was good, retires the session', async () => {
    const { raw, stream, release } = await start((request) => {
      request.begin()
      request.write('retry: 5\n\n')
      request.end()
    })
    stream.write(`retry: 5\ndata: ${VENDOR}\n\n`)
    stream.end()
    release(true)
    await ended(raw)
    expect(gets(raw)).toHaveLength(4)
  })

  it('is not opened again once the session is closed', async () => {
    const { raw, stream, release } = await start((request) => request.begin())
    stream.write(`retry: 5\n\n`)
    const deleting = ended(raw)
    release(false)
    stream.end()
    await deleting
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(gets(raw)).toHaveLength(1)
  })
})
