import { describe, expect, it } from 'vitest'
import { acceptsOf } from '../../../src/http/accepts.ts'
import { ask, dial, LIST, openDoor, posted } from './door.ts'

const length = String(LIST.length)

describe('the guard', () => {
  it.each(['localhost', '127.0.0.1', '[::1]', 'localhost:8808', 'LocalHost:1', '127.0.0.1:65535'])(
    'on loopback the host %s is served',
    async (host) => {
      const { port } = await openDoor()
      expect((await ask(port, posted(LIST, { host }))).status).toBe(200)
    },
  )

  it.each([
    'evil.example',
    'localhost.evil.example',
    'evil.example:8808',
    'localhost.',
    'localhost:x',
    'localhost:99999',
    'localhost@evil.example',
    'user@localhost',
    '127.1',
    '2130706433',
    '0.0.0.0',
    '[::]',
    '',
  ])('the host %s is 403', async (host) => {
    const { port } = await openDoor()
    const reply = await ask(port, posted(LIST, { host }))
    expect(reply).toMatchObject({ status: 403, json: { error: { code: -32600 } } })
    expect(reply.json).not.toHaveProperty('id')
  })

  it('where hosts are set, those and no others are served', async () => {
    const { port } = await openDoor({ http: { allowedHosts: ['mcp.example', 'other.example:444'] } })
    for (const [host, status] of [
      ['mcp.example', 200],
      ['MCP.example:9', 200],
      ['other.example:444', 200],
      ['other.example', 403],
      ['localhost', 403],
    ] as const) {
      expect((await ask(port, posted(LIST, { host }))).status).toBe(status)
    }
  })

  it.each([
    'null',
    'http://evil.example',
    'http://localhost.evil.example',
    'http://localhost@evil.example',
    'http://localhost:1:2',
    'file://localhost',
    'http://127.0.0.1.evil.example',
    'localhost',
    'http://localhost/',
    '',
  ])('M-HTTP-02: the origin %s is 403, before the body is read', async (origin) => {
    const { port } = await openDoor()
    const reply = await ask(port, posted('', { origin, 'content-length': length }))
    expect(reply).toMatchObject({ status: 403, json: { error: { code: -32600 } } })
    expect(reply.json).not.toHaveProperty('id')
  })

  it('M-HTTP-02: origins on loopback and those that are set are served', async () => {
    const local = await openDoor()
    for (const origin of ['http://localhost:6274', 'https://127.0.0.1', 'http://[::1]:3000']) {
      expect((await ask(local.port, posted(LIST, { origin }))).status).toBe(200)
    }
    const set = await openDoor({ http: { allowedOrigins: ['https://app.example'] } })
    expect((await ask(set.port, posted(LIST, { origin: 'https://app.example' }))).status).toBe(200)
    expect((await ask(set.port, posted(LIST, { origin: 'https://app.example:444' }))).status).toBe(403)
  })

  it.each([
    'Host: localhost',
    'ORIGIN: http://localhost',
    'Authorization: b',
    'Content-Type: application/json',
  ])('a second "%s" is refused', async (line) => {
    const { port } = await openDoor()
    const first = { origin: 'http://localhost', authorization: 'a' }
    expect(await ask(port, posted(LIST, first, [line]))).toMatchObject({
      status: 400,
      json: { error: { code: -32600 } },
    })
  })

  it('M-HDR-07: a repeated Mcp- header is a mismatch, even if both are equal', async () => {
    const { port } = await openDoor()
    expect(await ask(port, posted(LIST, {}, ['MCP-METHOD: tools/list']))).toMatchObject({
      status: 400,
      json: { error: { code: -32020 } },
    })
  })

  it('a repeated header that goes upstream is refused, any other is not', async () => {
    const { port } = await openDoor({ upstream: { forwardHeaders: ['X-Api-Key'] } })
    expect((await ask(port, posted(LIST, {}, ['x-api-key: a', 'X-API-Key: b']))).status).toBe(400)
    expect((await ask(port, posted(LIST, {}, ['x-other: a', 'x-other: b']))).status).toBe(200)
  })

  it('M-HDR-11: too many headers are 431, also where they hide a second of one name', async () => {
    const { port } = await openDoor()
    const many = Array.from({ length: 2100 }, (_, i) => `a${i % 10}:`)
    expect((await ask(port, posted(LIST, {}, [...many, 'Mcp-Method: x']))).status).toBe(431)
  })

  it('M-HTTP-01: another path is 404, a query changes nothing', async () => {
    const { port } = await openDoor()
    for (const path of ['/', '/mcp/', '/MCP', '/mcp/x', '/%6dcp', 'http://localhost/mcp', '*']) {
      const reply = await ask(port, posted(LIST, {}, [], `POST ${path} HTTP/1.1`))
      expect(reply).toMatchObject({ status: 404, json: { error: { code: -32600 } } })
    }
    expect((await ask(port, posted(LIST, {}, [], 'POST /mcp?access_token=x HTTP/1.1'))).status).toBe(200)
  })

  it('a token in the query names nobody', async () => {
    const seen: unknown[] = []
    const { port } = await openDoor({
      identifyFor: () => (headers) => {
        seen.push(headers.authorization)
        return {
          principal: '',
          principalFor: () => Buffer.alloc(0),
          context: '',
          anonymous: true,
          credentials: {},
        }
      },
    })
    await ask(port, posted(LIST, {}, [], 'POST /mcp?access_token=x&authorization=y HTTP/1.1'))
    expect(seen).toEqual([undefined])
  })

  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])(
    'M-HTTP-13: %s is 405 and names POST',
    async (verb) => {
      const { port } = await openDoor()
      const head = { 'content-type': undefined, 'content-length': undefined }
      const reply = await ask(port, posted('', head, [], `${verb} /mcp HTTP/1.1`))
      expect(reply).toMatchObject({
        status: 405,
        headers: { allow: 'POST' },
        json: { error: { code: -32600 } },
      })
    },
  )

  it.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;charset="UTF-8"', 200],
    ['application/json; charset=latin1', 415],
    ['text/plain', 415],
    ['application/jsonx', 415],
    ['', 415],
    [undefined, 415],
  ])('the content type %s is %i', async (type, status) => {
    const { port } = await openDoor()
    expect((await ask(port, posted(LIST, { 'content-type': type }))).status).toBe(status)
  })

  it('an encoded body is 415', async () => {
    const { port } = await openDoor()
    for (const encoding of ['gzip', 'identity', 'x']) {
      expect((await ask(port, posted(LIST, { 'content-encoding': encoding }))).status).toBe(415)
    }
    const chunked = { 'content-length': undefined, 'transfer-encoding': 'gzip, chunked' }
    expect((await ask(port, posted(`${length}\r\n`, chunked))).status).toBe(415)
  })

  it('M-HTTP-06: an Accept that admits neither form is 406', async () => {
    const { port } = await openDoor()
    expect((await ask(port, posted(LIST, { accept: 'text/html' }))).status).toBe(406)
    expect((await ask(port, posted(LIST, { accept: undefined }))).status).toBe(200)
  })

  it('a refused request leaves its connection usable, the body being skipped', async () => {
    const { port } = await openDoor()
    const two = Buffer.concat([posted(LIST, { accept: 'text/html' }), posted(LIST)])
    const connection = await dial(port)
    connection.send(two)
    expect((await connection.reply()).status).toBe(406)
    expect((await connection.reply()).status).toBe(200)
  })
})

describe('M-HTTP-06: what an Accept admits', () => {
  it.each([
    [undefined, true, true],
    ['', true, true],
    ['*/*', true, true],
    ['application/json, text/event-stream', true, true],
    ['text/event-stream,application/json;q=0.1', true, true],
    ['application/json', true, false],
    ['TEXT/Event-Stream', false, true],
    ['application/*', true, false],
    ['text/*, application/json;q=0', false, true],
    ['*/*, text/event-stream;q=0', true, false],
    ['*/*;q=0', false, false],
    ['application/json;q=0.0, */*;q=0.5', false, true],
    ['text/html', false, false],
  ])('%s: json %s, sse %s', (header, json, sse) => {
    expect(acceptsOf(header)).toEqual({ json, sse })
  })
})
