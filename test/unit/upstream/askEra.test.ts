import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClock } from '../../../src/clock.ts'
import { askEra } from '../../../src/upstream/askEra.ts'
import { createWire } from '../../../src/upstream/wire.ts'
import { freePort, listening } from '../../fixtures/listening.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE_TYPE = { 'content-type': 'text/event-stream' }
const resultOf = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: 7, result })
const errorOf = (code: number, id: unknown = 7) =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } })
const event = (data: string) => `event: message\ndata: ${data}\n\n`
const MODERN = resultOf({ resultType: 'complete', supportedVersions: ['2027-01-01', '2026-07-28'] })

type Row = [string, number, string, Record<string, string>, string]

async function asking(port: number, headers: Record<string, string> = {}) {
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const clock = createClock()
  const wire = createWire(url)
  onTestFinished(() => wire.close())
  const said = await askEra({ wire, url, headers, clock }, 7, { authorization: 'Bearer a' })
  expect(clock.pending()).toBe(0)
  return { said, wire }
}

async function serving(serve: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = await listening(serve)
  onTestFinished(server.close)
  return server
}

describe('case 37, M-VER-07: what an answer to server/discover says', () => {
  it.each<Row>([
    ['a result that lists our revision', 200, MODERN, JSON_TYPE, 'modern'],
    ['the same as an event', 200, event(MODERN), SSE_TYPE, 'modern'],
    ['a header mismatch', 400, errorOf(-32020), JSON_TYPE, 'modern'],
    ['a missing capability', 400, errorOf(-32021), JSON_TYPE, 'modern'],
    ['an unsupported revision', 400, errorOf(-32022), JSON_TYPE, 'modern'],
    ['the same with status 200', 200, errorOf(-32022), JSON_TYPE, 'modern'],
    [
      'a result with other revisions',
      200,
      resultOf({ supportedVersions: ['2027-01-01'] }),
      JSON_TYPE,
      'legacy',
    ],
    ['a result without revisions', 200, resultOf({}), JSON_TYPE, 'legacy'],
    ['revisions that are no list', 200, resultOf({ supportedVersions: '2026-07-28' }), JSON_TYPE, 'legacy'],
    ['no such method', 200, errorOf(-32601), JSON_TYPE, 'legacy'],
    ['no such method, 404', 404, errorOf(-32601), JSON_TYPE, 'legacy'],
    ['the code next to the three', 400, errorOf(-32019), JSON_TYPE, 'legacy'],
    ['the code after the three', 400, errorOf(-32023), JSON_TYPE, 'legacy'],
    ['an invalid session', 404, 'Invalid session', {}, 'legacy'],
    ['an error with id null', 400, errorOf(-32000, null), JSON_TYPE, 'legacy'],
    ['an error with an id of its own', 400, errorOf(-32600, 'server-error'), JSON_TYPE, 'legacy'],
    ['400 without a body', 400, '', {}, 'legacy'],
    ['404 without a body', 404, '', {}, 'legacy'],
    ['405, as HTTP+SSE servers say', 405, '', { allow: 'GET' }, 'legacy'],
    ['accepted, and nothing else', 202, 'Accepted', {}, 'legacy'],
    ['a page', 200, '<html>', { 'content-type': 'text/html' }, 'legacy'],
    ['rubbish', 200, '{"jsonrpc":', JSON_TYPE, 'legacy'],
    ['a stream without an answer', 200, ': hi\n\n', SSE_TYPE, 'legacy'],
    ['a redirect elsewhere', 302, '', { location: 'http://elsewhere.example/' }, 'legacy'],
    ['401', 401, errorOf(-32601), { ...JSON_TYPE, 'www-authenticate': 'Bearer' }, 'refused'],
    ['403', 403, '', {}, 'refused'],
    ['407', 407, '', {}, 'refused'],
    ['429', 429, '', {}, 'nothing'],
    ['500', 500, errorOf(-32601), JSON_TYPE, 'nothing'],
    ['503', 503, MODERN, JSON_TYPE, 'nothing'],
  ])('%s', async (_title, status, body, headers, expected) => {
    const server = await serving((_request, response) => void response.writeHead(status, headers).end(body))
    expect((await asking(server.port)).said).toBe(expected)
  })

  it('a connection that is refused, or cut', async () => {
    expect((await asking(await freePort())).said).toBe('nothing')
    const server = await serving((request) => void request.socket.destroy())
    expect((await asking(server.port)).said).toBe('nothing')
  })

  it('silence, after two seconds', async () => {
    const server = await serving(() => undefined)
    const { said, wire } = await asking(server.port)
    expect(said).toBe('silent')
    expect(wire.busy()).toBe(0)
  })

  it('an answer in a stream that never ends', async () => {
    const server = await serving((_request, response) => {
      response.writeHead(200, SSE_TYPE).write(event(MODERN))
    })
    const { said, wire } = await asking(server.port)
    expect(said).toBe('modern')
    expect(wire.busy()).toBe(0)
  })
})

it('asks as a client of the modern revision, with the credentials of whoever wants to know', async () => {
  const seen: IncomingMessage['headers'][] = []
  const bodies: string[] = []
  const server = await serving(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push(request.headers)
    bodies.push(body)
    response.writeHead(404).end()
  })
  await asking(server.port, { 'x-fixed': 'yes' })
  expect(seen).toEqual([
    expect.objectContaining({
      ...JSON_TYPE,
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer a',
      'mcp-method': 'server/discover',
      'mcp-protocol-version': '2026-07-28',
      'x-fixed': 'yes',
    }),
  ])
  expect(JSON.parse(bodies.join())).toEqual({
    jsonrpc: '2.0',
    id: 7,
    method: 'server/discover',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'mrtr-proxy', version: expect.any(String) },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })
})
