import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const SMUGGLED = 'POST /admin HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'
const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

/** Sends bytes on a bare connection and reads until it ends. */
async function sent(url: string, lines: readonly string[], body: string): Promise<string> {
  const { host, port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`${[...lines, `Host: ${host}`, 'Connection: close', '', ''].join('\r\n')}${body}`)
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

/** http-proxy 1.18 sends the chunked body of a DELETE without its framing: the upstream reads a second request. */
describe.each(['DELETE', 'GET'])('the body of a %s stays a body', (verb) => {
  it.each([
    ['chunked', ['Transfer-Encoding: chunked'], chunked(SMUGGLED)],
    ['of a length', [`Content-Length: ${SMUGGLED.length}`], SMUGGLED],
  ])('%s', async (_name, lines, body) => {
    const upstream = await startRawUpstream({
      script: (request) => {
        request.status(200, 'ok')
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    const answer = await sent(url, [`${verb} /mcp HTTP/1.1`, ...lines], body)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    const seen = upstream.all().map((each) => [each.verb, each.url, each.body.toString()])
    expect(seen).toEqual([[verb, '/mcp', SMUGGLED]])
    expect(upstream.all()[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  it.each([
    ['two lengths', ['Content-Length: 0', `Content-Length: ${SMUGGLED.length}`]],
    ['length and chunks', [`Content-Length: ${SMUGGLED.length}`, 'Transfer-Encoding: chunked']],
    ['another coding', ['Transfer-Encoding: gzip, chunked']],
    ['a coding twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    ['a coding in disguise', ['Transfer-Encoding : chunked']],
    ['Connection drops the length', ['Connection: Content-Length', `Content-Length: ${SMUGGLED.length}`]],
  ])('%s: no second request', async (_name, lines) => {
    const upstream = await startRawUpstream({
      script: (request) => {
        request.status(200, 'ok')
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    await sent(url, [`${verb} /mcp HTTP/1.1`, ...lines], SMUGGLED)
    expect(upstream.all().filter((each) => each.url === '/admin')).toHaveLength(0)
  })
})
