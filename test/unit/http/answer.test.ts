import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GatewayError, UpstreamRefusal } from '../../../src/errors.ts'
import { createAnswer } from '../../../src/http/answer.ts'
import type { Answer } from '../../../src/mcp/request.ts'
import { createLog } from '../../../src/observe/log.ts'
import { listening } from '../../fixtures/listening.ts'
import { dial, resultOf } from './door.ts'
import { createManualClock } from './manualClock.ts'

const id = Buffer.from('"7"')
const RESULT = '{"jsonrpc":"2.0","id":"7","result":{}}'
const note = (text: string): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","method":"n","params":${JSON.stringify(text)}}`)
const BOTH = { json: true, sse: true }

/** An answer that is still to be given, and the bare connection of its client. */
async function answering(accepts = BOTH) {
  const clock = createManualClock()
  let came = (_pair: [IncomingMessage, ServerResponse]): void => undefined
  const arrival = new Promise<[IncomingMessage, ServerResponse]>((resolve) => {
    came = resolve
  })
  const server = await listening((request, response) => came([request, response]))
  onTestFinished(() => server.close())
  const client = await dial(server.port)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const [request, response] = await arrival
  response.on('error', () => undefined)
  const answer: Answer = createAnswer({ request, response, id, accepts, clock, log: createLog('silent') })
  let left = 0
  answer.onLeave(() => {
    left++
  })
  const closed = new Promise<void>((done) => response.on('close', done))
  return { answer, client, clock, request, response, closed, left: () => left }
}

const eventsIn = (text: string): string[] =>
  dechunked(text)
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))

function dechunked(text: string): string {
  let at = text.indexOf('\r\n\r\n') + 4
  let body = ''
  for (;;) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    if (end === -1 || !(size > 0)) return body
    body += text.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}

const long = (bytes: number): Buffer => Buffer.from(JSON.stringify('y'.repeat(bytes - 2)))

describe('a plain answer', () => {
  it('M-HTTP-06: is JSON with its length, where nothing came before it', async () => {
    const { answer, client, clock, closed, left } = await answering()
    answer.end(resultOf(id), 404)
    expect(answer.open).toBe(false)
    const reply = await client.reply()
    expect(reply).toMatchObject({
      status: 404,
      headers: { 'content-type': 'application/json' },
      body: RESULT,
    })
    await closed
    client.socket.destroy()
    expect(left()).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  it('an error has its status and headers', async () => {
    const { answer, client } = await answering()
    answer.fail(new UpstreamRefusal(401, 'Bearer'))
    expect(await client.reply()).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
      json: { id: '7', error: { code: -32603, data: { reason: 'upstream_unauthorized' } } },
    })
  })

  it('only the first terminal message counts', async () => {
    const { answer, client } = await answering()
    answer.end(resultOf(id))
    answer.end([Buffer.from('2')])
    answer.fail(new Error('3'))
    answer.notify(note('4'))
    expect((await client.reply()).body).toBe(RESULT)
  })

  it('a long one arrives whole, whatever the pace', async () => {
    const { answer, client, left } = await answering()
    const result = long(9_000_000)
    client.socket.pause()
    answer.end([result.subarray(0, 5), result.subarray(5)])
    client.socket.resume()
    expect(result.equals(Buffer.from((await client.reply()).body))).toBe(true)
    expect(left()).toBe(0)
  })
})

describe('an event stream', () => {
  it('M-HTTP-10: begins with the first notification, and its headers go at once', async () => {
    const { answer, client } = await answering()
    answer.notify(note('a'))
    expect(answer.streaming).toBe(true)
    await client.includes('\n\n')
    const head = client.text().toLowerCase()
    expect(head).toContain('200 ok')
    expect(head).toContain('content-type: text/event-stream\r\n')
    expect(head).toContain('x-accel-buffering: no\r\n')
    expect(head).toContain('cache-control: no-cache, no-transform\r\n')
  })

  it('M-HTTP-09, M-HTTP-14: one data line a message, no ids, and the terminal message ends it', async () => {
    const { answer, client, closed, left, clock } = await answering()
    answer.notify(note('a'))
    answer.notify(Buffer.from('{\n"jsonrpc":\r\n"2.0" }'))
    answer.end(resultOf(id), 404)
    await client.includes('0\r\n\r\n')
    expect(eventsIn(client.text())).toEqual([note('a').toString(), '{ "jsonrpc":  "2.0" }', RESULT])
    expect(client.text()).not.toMatch(/^(id|retry):/m)
    await closed
    expect(left()).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  it('cases 35, M-HTTP-10: begins after ten seconds of silence, with a comment every fifteen', async () => {
    const { answer, client, clock } = await answering()
    clock.advance(9_999)
    expect(answer.streaming).toBe(false)
    clock.advance(1)
    expect(answer.streaming).toBe(true)
    await client.includes(':\n\n')
    clock.advance(14_000)
    answer.notify(note('a'))
    clock.advance(14_999)
    answer.notify(note('b'))
    await client.includes('"b"')
    expect(client.text().match(/^:$/gm)).toHaveLength(1)
    clock.advance(15_000)
    answer.notify(note('c'))
    await client.includes('"c"')
    expect(client.text().match(/^:$/gm)).toHaveLength(2)
    answer.end(resultOf(id))
    await client.includes('0\r\n\r\n')
  })

  it('errors are in-band once it has begun', async () => {
    const { answer, client } = await answering()
    answer.notify(note('a'))
    answer.fail(new GatewayError('upstream_timeout', 'm'))
    await client.includes('0\r\n\r\n')
    const last = JSON.parse(eventsIn(client.text())[1] ?? '')
    expect(last).toMatchObject({ id: '7', error: { code: -32603, data: { reason: 'upstream_timeout' } } })
  })

  it('a raw line break in a string forges no event: the answer is an error, a notification is dropped', async () => {
    const { answer, client } = await answering()
    answer.notify(note('a'))
    answer.notify(Buffer.from('{"a":"\n\ndata: forged"}'))
    answer.end([Buffer.from('{"jsonrpc":"2.0","id":'), id, Buffer.from(',"result":"\ndata: forged"}')])
    await client.includes('0\r\n\r\n')
    const [first, last, ...more] = eventsIn(client.text())
    expect(first).toBe(note('a').toString())
    expect(JSON.parse(last ?? '')).toMatchObject({
      id: '7',
      error: { data: { reason: 'upstream_protocol' } },
    })
    expect(more).toEqual([])
  })

  it('M-HTTP-06: a client that takes JSON alone gets no notifications and no stream', async () => {
    const { answer, client, clock } = await answering({ json: true, sse: false })
    answer.notify(note('a'))
    clock.advance(60_000)
    expect(answer.streaming).toBe(false)
    answer.end(resultOf(id))
    expect((await client.reply()).body).toBe(RESULT)
  })

  it('M-HTTP-06: a client that takes events alone gets its result as one', async () => {
    const { answer, client } = await answering({ json: false, sse: true })
    answer.end(resultOf(id))
    await client.includes('0\r\n\r\n')
    expect(eventsIn(client.text())).toEqual([RESULT])
  })
})

describe('a slow reader', () => {
  it('cases 51, M-PRG-04: loses the oldest notifications, never the last message', async () => {
    const { answer, client, clock } = await answering()
    client.socket.pause()
    const big = 'x'.repeat(200_000)
    for (let i = 0; i < 200; i++) answer.notify(note(`${i} ${big}`))
    const last = long(3_000_000)
    answer.end([last])
    client.socket.resume()
    await client.includes('0\r\n\r\n')
    const events = eventsIn(client.text())
    expect(events.pop() === last.toString()).toBe(true)
    const numbers = events.map((event) => Number(JSON.parse(event).params.split(' ')[0]))
    expect(numbers.length).toBeLessThan(100)
    expect(numbers.slice(-5)).toEqual([195, 196, 197, 198, 199])
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    expect(clock.pending()).toBe(0)
  })

  it.each(['a stream', 'a stream that has ended', 'plain JSON'])(
    'that is stuck for 30 s is dropped: %s',
    async (kind) => {
      const { answer, client, clock, closed, left } = await answering()
      client.socket.pause()
      for (let i = 0; i < 100 && kind !== 'plain JSON'; i++) {
        answer.notify(note('x'.repeat(200_000)))
        await setImmediate()
      }
      if (kind !== 'a stream') answer.end([long(20_000_000)])
      for (let i = 0; i < 100; i++) await setImmediate()
      clock.advance(30_000)
      await closed
      expect(left()).toBe(1)
      expect(clock.pending()).toBe(0)
    },
  )

  it('that is stuck only at the last, short message is dropped too', async () => {
    const { answer, client, clock, response, closed, left } = await answering()
    client.socket.pause()
    const unsent = () => response.socket?.writableLength ?? 0
    while (unsent() === 0) {
      answer.notify(note('x'.repeat(4_000)))
      for (let i = 0; i < 3 && unsent() > 0; i++) await setImmediate()
    }
    expect(response.writableNeedDrain).toBe(false)
    answer.end(resultOf(id))
    clock.advance(30_000)
    await closed
    expect(left()).toBe(1)
  })

  it('that takes some bytes in time is not', async () => {
    const { answer, client, clock, response, closed, left } = await answering()
    client.socket.pause()
    answer.end([long(20_000_000)])
    for (let i = 0; i < 3; i++) {
      clock.advance(29_000)
      const drained = new Promise((resolve) => response.once('drain', resolve))
      client.socket.resume()
      await drained
      client.socket.pause()
    }
    client.socket.resume()
    await closed
    expect(left()).toBe(0)
  })
})

describe('M-HTTP-11: a client that leaves', () => {
  it('before its answer is told of once', async () => {
    const { answer, client, clock, closed, left } = await answering()
    client.socket.destroy()
    await closed
    expect(answer.open).toBe(false)
    expect(left()).toBe(1)
    let late = 0
    answer.onLeave(() => late++)
    expect(late).toBe(1)
    answer.notify(note('a'))
    answer.end(resultOf(id))
    answer.fail(new Error('x'))
    expect(left()).toBe(1)
    expect(clock.pending()).toBe(0)
  })

  it('before there was an answer to give is told of at once, and nothing is kept for it', async () => {
    const { client, clock, request, response, closed } = await answering()
    client.socket.destroy()
    await closed
    const late = createAnswer({ request, response, id, accepts: BOTH, clock, log: createLog('silent') })
    let left = 0
    late.onLeave(() => {
      left++
    })
    late.notify(note('a'))
    expect([late.open, late.streaming, left, clock.pending()]).toEqual([false, false, 1, 0])
  })

  it('in mid-stream is told of', async () => {
    const { answer, client, clock, closed, left } = await answering()
    answer.notify(note('a'))
    await client.includes('"a"')
    client.socket.resetAndDestroy()
    await closed
    expect(left()).toBe(1)
    expect(clock.pending()).toBe(0)
  })

  it.each(['destroy', 'resetAndDestroy'] as const)(
    'before all of a long answer was written is told of (%s)',
    async (how) => {
      const { answer, client, closed, left } = await answering()
      client.socket.pause()
      answer.end([long(20_000_000)])
      await setImmediate()
      client.socket[how]()
      await closed
      expect(left()).toBe(1)
    },
  )

  it('a callback that throws keeps none of the others from being called', async () => {
    const { answer, client, closed } = await answering()
    let told = 0
    answer.onLeave(() => {
      throw new Error('bug')
    })
    answer.onLeave(() => {
      told++
    })
    client.socket.destroy()
    await closed
    expect(told).toBe(1)
  })
})
