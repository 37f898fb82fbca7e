import { describe, expect, it } from 'vitest'
import { ask, dial, LIST, openDoor, posted } from './door.ts'

const TOO_LARGE = { status: 413, headers: { connection: 'close' }, json: { error: { code: -32600 } } }
const small = { http: { maxBodyBytes: 1024 } }
const padded = (bytes: number): string => LIST + ' '.repeat(bytes - LIST.length)
const CHUNKED = { 'content-length': undefined, 'transfer-encoding': 'chunked' }

function chunked(body: string, size: number): string {
  let text = ''
  for (let at = 0; at < body.length; at += size) {
    const part = body.slice(at, at + size)
    text += `${part.length.toString(16)}\r\n${part}\r\n`
  }
  return `${text}0\r\n\r\n`
}

describe('the body of a request', () => {
  it('may be as long as the limit, in one piece or in many', async () => {
    const { port } = await openDoor(small)
    expect((await ask(port, posted(padded(1024)))).status).toBe(200)
    expect((await ask(port, posted(chunked(padded(1024), 7), CHUNKED))).status).toBe(200)
  })

  it('is refused by its declared length, before it is read', async () => {
    const { port } = await openDoor(small)
    const reply = await ask(port, posted('', { 'content-length': '1025' }))
    expect(reply).toMatchObject(TOO_LARGE)
    expect(reply.json).not.toHaveProperty('id')
  })

  it('is refused by count where no length was declared, and the client sees that while it still sends', async () => {
    const { port } = await openDoor(small)
    const connection = await dial(port)
    connection.send(posted(chunked(padded(2048), 100).slice(0, -5), CHUNKED))
    expect(await connection.reply()).toMatchObject(TOO_LARGE)
    connection.send('1\r\n \r\n0\r\n\r\n')
    await connection.ended()
  })

  it('that is far too long is read on for a while, so that a client that sends first sees its answer', async () => {
    const { port } = await openDoor(small)
    const connection = await dial(port)
    connection.socket.pause()
    connection.send(posted('', CHUNKED))
    await new Promise<void>((resolve, reject) => {
      const body = chunked(' '.repeat(20_000_000), 1_000_000)
      connection.socket.write(body, (error) => (error ? reject(error) : resolve()))
    })
    connection.socket.resume()
    expect(await connection.reply()).toMatchObject(TOO_LARGE)
  })

  it('that is far too long does not take its answer away from a client that sends first and reads then', async () => {
    const { port } = await openDoor()
    const body = Buffer.alloc(20_000_000, 0x20)
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { code: -32600 } })
  })

  it('is asked for where the client waits for that', async () => {
    const { port } = await openDoor()
    const connection = await dial(port)
    const expecting = { expect: '100-continue', 'content-length': String(LIST.length) }
    connection.send(posted('', expecting))
    expect((await connection.reply()).status).toBe(100)
    connection.send(LIST)
    expect((await connection.reply()).status).toBe(200)
    connection.send(posted(LIST))
    expect((await connection.reply()).status).toBe(200)
  })

  it.each([
    ['too large', { 'content-length': '5000000' }, 413],
    ['of another type', { 'content-type': 'text/plain', 'content-length': '10' }, 415],
  ])('is not asked for where it is %s', async (_, changes, status) => {
    const { port } = await openDoor()
    const reply = await ask(port, posted('', { expect: '100-continue', ...changes }))
    expect(reply).toMatchObject({ status, headers: { connection: 'close' } })
  })

  it('that never comes to its end leaves nothing behind when the client goes', async () => {
    let served = 0
    const { port, door } = await openDoor({
      serve: () => {
        served++
      },
    })
    const connection = await dial(port)
    connection.send(posted(LIST, { 'content-length': String(LIST.length + 1) }))
    expect((await ask(port, posted('x'))).status).toBe(400)
    connection.socket.resetAndDestroy()
    await door.close()
    expect([served, door.sockets()]).toEqual([0, 0])
  })
})
