import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../src/errors.ts'
import { meta } from '../../../src/mcp/meta.ts'
import type { Answer, ModernRequest } from '../../../src/mcp/request.ts'
import { envelope, requestBody } from '../mcp/requests.ts'
import { ask, dial, LIST, NOW, openDoor, posted, resultOf } from './door.ts'

const list = (members: Record<string, unknown>): string =>
  JSON.stringify(requestBody('tools/list', {}, members))
const message = (members: object): string => JSON.stringify({ jsonrpc: '2.0', ...members })
const LEGACY = { 'mcp-protocol-version': undefined, 'mcp-method': undefined }

/** A door whose requests wait to be answered by the test. */
async function waiting(given: Parameters<typeof openDoor>[0] = {}) {
  const came: { request: ModernRequest; answer: Answer }[] = []
  let wake = (): void => undefined
  const opened = await openDoor({
    ...given,
    serve: (_route, request, answer) => {
      came.push({ request, answer })
      wake()
    },
  })
  async function next() {
    for (;;) {
      const first = came.shift()
      if (first !== undefined) return first
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return { ...opened, next }
}

describe('what passes the door', () => {
  it('M-HTTP-01: is served with its route, method, envelope and caller', async () => {
    const { port, next } = await waiting()
    const connection = await dial(port)
    connection.send(posted(list({ progressToken: 7, [meta.logLevel]: 'info' })))
    const { request, answer } = await next()
    expect(request.method).toBe('tools/list')
    expect(request.envelope).toEqual({
      version: NOW,
      capabilities: {},
      logLevel: 'info',
      progressToken: Buffer.from('7'),
    })
    expect(request.caller.principal).toBe('p')
    expect(request.text.toString()).toContain('"tools/list"')
    answer.end(resultOf(request.id))
    expect((await connection.reply()).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  })

  it('M-HTTP-14: a session id and a last event id change nothing and are not echoed', async () => {
    const { port } = await openDoor()
    const reply = await ask(port, posted(LIST, { 'mcp-session-id': 's', 'last-event-id': 'e' }))
    expect(reply.status).toBe(200)
    expect(reply.headers).not.toHaveProperty('mcp-session-id')
  })

  it.each(['1', '"1"', '"\\u0031"', '9007199254740993', '-0'])(
    'M-BASE-02: the id %s goes back as written',
    async (id) => {
      const { port } = await openDoor()
      const good = await ask(port, posted(LIST.replace('"id":1', `"id":${id}`)))
      expect(good.body).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
      const bad = await ask(port, posted(LIST.replace('"id":1', `"id":${id}`), { 'mcp-method': 'x' }))
      expect(bad.body).toContain(`"id":${id},`)
    },
  )

  it.each([
    [
      'throws',
      () => {
        throw new GatewayError('overloaded', 'm')
      },
    ],
    [
      'rejects',
      async () => {
        throw new GatewayError('overloaded', 'm')
      },
    ],
  ])('what serving %s is the answer', async (_, serve) => {
    const { port } = await openDoor({ serve })
    expect(await ask(port, posted())).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { id: 1, error: { code: -32603, data: { reason: 'overloaded' } } },
    })
  })

  it('what nobody foresaw is 500 and tells nothing', async () => {
    const { port } = await openDoor({
      serve: () => {
        throw new TypeError('secret')
      },
    })
    const reply = await ask(port, posted())
    expect(reply).toMatchObject({ status: 500, json: { id: 1, error: { code: -32603 } } })
    expect(reply.body).not.toContain('secret')
    expect(reply.json.error).not.toHaveProperty('data')
  })
})

describe('what does not', () => {
  it.each<[string, string | Buffer, number]>([
    ['M-BASE-01: no JSON', '{"jsonrpc":', -32700],
    ['M-BASE-01: nothing', '', -32700],
    ['M-BASE-01: no UTF-8', Buffer.from(LIST.replace('tools', '\xff'), 'latin1'), -32700],
    ['a byte order mark', `\ufeff${LIST}`, -32700],
    ['nesting beyond 64', `${'['.repeat(65)}${']'.repeat(65)}`, -32600],
    ['a member twice', LIST.replace('{', '{"method":"x",'), -32600],
    ['a member twice, escaped', LIST.replace('{', '{"m\\u0065thod":"x",'), -32600],
    ['a member in another case', LIST.replace('"_meta"', '"_META":{},"_meta"'), -32600],
    ['M-HTTP-04: a batch', `[${LIST}]`, -32600],
    ['M-HTTP-04: a response', message({ id: 1, result: {} }), -32600],
    ['M-BASE-01: a null id', LIST.replace('"id":1', '"id":null'), -32600],
    ['M-BASE-01: a fraction as id', LIST.replace('"id":1', '"id":1.0'), -32600],
  ])('M-BASE-03: %s is refused without an id', async (_, body, code) => {
    const { port } = await openDoor()
    const reply = await ask(port, posted(body))
    expect(reply).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/json' },
      json: { error: { code } },
    })
    expect(reply.json).not.toHaveProperty('id')
  })

  it.each<[string, string, Record<string, string | undefined>, number]>([
    ['M-BASE-14: no params', message({ id: 1, method: 'tools/list' }), {}, -32602],
    [
      'M-BASE-14: envelope faults come first',
      list({ [meta.protocolVersion]: undefined }),
      { 'mcp-method': 'x' },
      -32602,
    ],
    ['M-HDR-01: no version header', LIST, { 'mcp-protocol-version': undefined }, -32020],
    ['M-HDR-01: an unknown version in the body alone', list({ [meta.protocolVersion]: 'v999' }), {}, -32020],
    [
      'M-VER-01: an unknown version in both',
      list({ [meta.protocolVersion]: 'v999' }),
      { 'mcp-protocol-version': 'v999' },
      -32022,
    ],
    ['M-HDR-02: another method', LIST, { 'mcp-method': 'tools/call' }, -32020],
    ['M-HDR-02: no method', LIST, { 'mcp-method': undefined }, -32020],
    ['M-HDR-07: bytes that must be encoded', LIST, { 'mcp-method': 'tools/list\xa0' }, -32020],
    [
      'M-HDR-03: no name',
      JSON.stringify(requestBody('tools/call', { name: 'a' })),
      { 'mcp-method': 'tools/call' },
      -32020,
    ],
  ])('%s', async (_, body, changes, code) => {
    const { port } = await openDoor()
    expect(await ask(port, posted(body, changes))).toMatchObject({
      status: 400,
      json: { id: 1, error: { code } },
    })
  })

  it('M-HDR-02: names of headers have any case, blanks around values do not count', async () => {
    const { port } = await openDoor()
    const changes = { 'mcp-method': undefined, 'MCP-METHOD': ' \t tools/list \t ' }
    expect((await ask(port, posted(LIST, changes))).status).toBe(200)
  })

  it('M-VER-01: names what is served and what was asked for', async () => {
    const { port } = await openDoor()
    const reply = await ask(
      port,
      posted(list({ [meta.protocolVersion]: 'v9' }), { 'mcp-protocol-version': 'v9' }),
    )
    expect(reply.json.error?.data).toEqual({ supported: [NOW], requested: 'v9' })
  })

  it.each([
    ['initialize', { id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18' } }, '2025-06-18'],
    ['any request', { id: 0, method: 'tools/list' }, '2025-03-26'],
  ])(
    'M-VER-06, M-HTTP-15: without any sign of 2026-07-28 %s learns what is served',
    async (_, members, requested) => {
      const { port } = await openDoor()
      expect(await ask(port, posted(message(members), LEGACY))).toMatchObject({
        status: 400,
        json: { id: 0, error: { code: -32022, data: { supported: [NOW], requested } } },
      })
      const named = { ...LEGACY, 'mcp-protocol-version': '2025-11-25' }
      expect(await ask(port, posted(message(members), named))).toMatchObject({
        status: 400,
        json: { error: { code: -32022, data: { requested: '2025-11-25' } } },
      })
    },
  )

  it('M-VER-05: initialize with an envelope is modern', async () => {
    const { port, next } = await waiting()
    const connection = await dial(port)
    connection.send(posted(JSON.stringify(requestBody('initialize')), { 'mcp-method': 'initialize' }))
    expect((await next()).request.method).toBe('initialize')
  })
})

describe('M-HTTP-05, M-BASE-10: a notification', () => {
  const cancelled = { method: 'notifications/cancelled', params: { requestId: 1 } }

  it('is accepted without a body and goes nowhere', async () => {
    let served = 0
    const { port } = await openDoor({
      serve: () => {
        served++
      },
    })
    const bare = await ask(port, posted(message(cancelled), { 'mcp-method': undefined }))
    expect([bare.status, bare.body]).toEqual([202, ''])
    const params = { requestId: 1, _meta: envelope() }
    const claimed = await ask(port, posted(message({ ...cancelled, params }), LEGACY))
    expect([claimed.status, claimed.body, served]).toEqual([202, '', 0])
  })

  it('that contradicts itself is an HTTP error without id', async () => {
    const { port } = await openDoor()
    const reply = await ask(port, posted(message(cancelled), { 'mcp-method': 'notifications/progress' }))
    expect(reply).toMatchObject({ status: 400, json: { error: { code: -32020 } } })
    expect(reply.json).not.toHaveProperty('id')
  })
})

/** An address of this machine that is not loopback, where it has one. */
const [outer] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter((address) => address.family === 'IPv4' && !address.internal)

describe('clients that do as they like', () => {
  it.skipIf(outer === undefined)(
    'connections of one address beyond its limit are 429, the others go on',
    async () => {
      const host = outer?.address ?? ''
      const given = {
        listen: '0.0.0.0:0',
        http: { allowedHosts: ['localhost'] },
        limits: { maxPerAddress: 2 },
      }
      const { port } = await openDoor(given)
      const [first, second, third] = [await dial(port, host), await dial(port, host), await dial(port, host)]
      third.send(posted())
      expect(await third.reply()).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1', connection: 'close' },
        json: { error: { code: -32603, data: { reason: 'overloaded' } } },
      })
      await third.ended()
      for (const { send, reply } of [first, second]) {
        send(posted())
        expect((await reply()).status).toBe(200)
      }
      expect((await ask(port, posted())).status).toBe(200)
    },
  )

  it('headers beyond 16 KiB are 431, what is no HTTP is 400', async () => {
    const { port } = await openDoor()
    expect((await ask(port, posted(LIST, { x: 'x'.repeat(17_000) }))).status).toBe(431)
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET /mcp HTTP/1.1\r\n\r\n',
      'POST /mcp HTTP/1.1\r\nhost: a\r\nx: a\x00b\r\n\r\n',
    ]) {
      expect((await ask(port, bytes)).status).toBe(400)
    }
    const both = posted(LIST, { 'transfer-encoding': 'chunked' })
    expect((await ask(port, both)).status).toBe(400)
    expect((await ask(port, posted())).status).toBe(200)
  })

  it('rubbish in the middle of an answer cuts the connection and writes nothing into the stream', async () => {
    const { port, next } = await waiting()
    const connection = await dial(port)
    connection.send(posted())
    const { answer } = await next()
    answer.notify(Buffer.from('{"a":1}'))
    await connection.includes('"a":1')
    const left = new Promise<void>((resolve) => answer.onLeave(resolve))
    connection.send('rubbish\r\n\r\n')
    expect(await connection.ended()).not.toContain('400')
    await left
  })

  it('cases 36, M-HTTP-11: hanging up at any time is told to what serves, once each, and leaves nothing', async () => {
    const { port, door, next, clock } = await waiting()
    let left = 0
    const gone: Promise<void>[] = []
    for (let phase = 0; phase < 12; phase++) {
      const connection = await dial(port)
      const bytes = posted()
      if (phase < 6) {
        // The head, half of the body, all but a byte: nothing to serve.
        connection.send(
          bytes.subarray(0, [0, 5, 60, bytes.length - 100, bytes.length - 2, bytes.length - 1][phase]),
        )
      } else {
        connection.send(bytes)
        const { answer } = await next()
        gone.push(
          new Promise((resolve) =>
            answer.onLeave(() => {
              left++
              resolve()
            }),
          ),
        )
        if (phase > 8) answer.notify(Buffer.from('{}'))
      }
      if (phase % 3 === 0) connection.socket.resetAndDestroy()
      else if (phase % 3 === 1) connection.socket.destroy()
      else connection.socket.end()
    }
    await Promise.all(gone)
    expect(left).toBe(6)
    await door.close()
    expect([door.sockets(), clock.pending()]).toEqual([0, 0])
  })

  it('pipelined requests are answered in order, and all learn that their client has gone', async () => {
    const { port, next } = await waiting()
    const connection = await dial(port)
    connection.send(Buffer.concat([posted(), posted(LIST.replace('"id":1', '"id":2')), posted(), posted()]))
    const [first, second, third, fourth] = [await next(), await next(), await next(), await next()]
    second.answer.end(resultOf(second.request.id))
    first.answer.end(resultOf(first.request.id))
    expect((await connection.reply()).json.id).toBe(1)
    expect((await connection.reply()).json.id).toBe(2)
    const left = [third, fourth].map(({ answer }) => new Promise<void>((resolve) => answer.onLeave(resolve)))
    connection.socket.destroy()
    await Promise.all(left)
    expect(fourth.answer.open).toBe(false)
  })
})

describe('draining', () => {
  it('lets what runs finish, closes each connection with its answer, and idle ones at once', async () => {
    const { port, door, next } = await waiting()
    const [idle, busy, streaming] = [await dial(port), await dial(port), await dial(port)]
    idle.send(posted(LIST, { accept: 'text/html' }))
    expect((await idle.reply()).headers.connection).toBe('keep-alive')
    busy.send(posted())
    const one = await next()
    streaming.send(posted())
    const two = await next()
    two.answer.notify(Buffer.from('{}'))
    await streaming.includes('data: {}')
    door.drain()
    await idle.ended()
    const late = await dial(port)
    late.send(posted())
    const three = await next()
    three.answer.end(resultOf(three.request.id))
    expect(await late.reply()).toMatchObject({ status: 200, headers: { connection: 'close' } })
    await late.ended()
    let left = 0
    one.answer.onLeave(() => left++)
    one.answer.end(resultOf(one.request.id))
    expect(await busy.reply()).toMatchObject({ status: 200, headers: { connection: 'close' } })
    await busy.ended()
    expect(left).toBe(0)
    two.answer.end(resultOf(two.request.id))
    expect(await streaming.ended()).toContain('"result":{}')
    expect(door.sockets()).toBe(0)
  })

  it('closing lets the last answers through whole, refuses new ones and cuts what is left', async () => {
    const { port, door, next, clock } = await waiting()
    const [busy, silent] = [await dial(port), await dial(port)]
    silent.send(posted())
    await next()
    busy.send(posted())
    const { request, answer } = await next()
    const result = Buffer.from(JSON.stringify('y'.repeat(8_000_000)))
    busy.socket.pause()
    answer.end([
      Buffer.from('{"jsonrpc":"2.0","id":'),
      request.id,
      Buffer.from(',"result":'),
      result,
      Buffer.from('}'),
    ])
    const closed = door.close()
    const late = await dial(port)
    late.send(posted())
    expect(await late.reply()).toMatchObject({
      status: 503,
      json: { error: { data: { reason: 'draining' } } },
    })
    busy.socket.resume()
    expect((await busy.reply()).body).toHaveLength(result.length + 34)
    await closed
    await silent.ended()
    expect([door.sockets(), clock.pending()]).toEqual([0, 0])
    await expect(dial(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})
