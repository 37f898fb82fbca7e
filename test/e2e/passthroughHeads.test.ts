import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'

/** A server that answers whatever it gets with these bytes. */
async function answering(bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write(Buffer.from(bytes, 'latin1')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}/mcp`
}

/** The bytes that a GET through us gets. */
async function got(bytes: string): Promise<string> {
  const { url } = await startGateway(await answering(bytes))
  const { host, port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += chunk.toString('latin1')
  return text
}

const DATE = 'Date: Mon, 01 Jan 2001 00:00:00 GMT\r\n'

it.each([
  [
    'order, case, repeats and bytes',
    `200 F\xefne\r\n${DATE}X-b: \xc3\xa9\r\nSet-Cookie: a\r\nx-A: 1\r\nX-a: 2\r\nSet-Cookie: b\r\n`,
  ],
  ['a status of its own', `299 Mine\r\n${DATE}`],
  ['no body', `304 Not Modified\r\n${DATE}ETag: x\r\n`],
])('the head of an answer keeps %s', async (_name, lines) => {
  const body = lines.startsWith('304') ? '' : 'ok'
  const head = `HTTP/1.1 ${lines}Content-Length: ${body.length}\r\n`
  expect(await got(`${head}\r\n${body}`)).toBe(`${head}Connection: close\r\n\r\n${body}`)
})

it('framing is each connection’s own, and what comes before the head is not for the client', async () => {
  const chunked = `HTTP/1.1 200 OK\r\n${DATE}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`
  expect(await got(`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${chunked}`)).toBe(
    `HTTP/1.1 200 OK\r\n${DATE}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
  )
})

it.each([
  ['no HTTP', 'hello\r\n\r\n'],
  ['a header with control characters', 'HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 2\r\n\r\nok'],
  ['a status that there is not', 'HTTP/1.1 099 Low\r\nContent-Length: 2\r\n\r\nok'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nok'],
])('%s is 502', async (_name, bytes) => {
  expect(await got(bytes)).toMatch(/^HTTP\/1\.1 502 [\s\S]*"error":\{"code":-32603/)
})
