import type { RequestListener } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createWire, type WireRequest } from '../../../src/upstream/wire.ts'
import { freePort, listening } from '../../fixtures/listening.ts'

/** A server whose connections are counted, and a wire to it. */
async function start(serve: RequestListener) {
  const sockets = new Set<unknown>()
  const server = await listening((request, response) => {
    sockets.add(request.socket)
    serve(request, response)
  })
  const wire = createWire(new URL(server.origin))
  onTestFinished(async () => {
    await wire.close()
    expect(wire.busy()).toBe(0)
    await server.close()
  })

  /** Sends, and tells how it ended. */
  function send(path: string, given: Partial<WireRequest> = {}) {
    let headed: (status: number) => void
    const head = new Promise<number>((resolve) => {
      headed = resolve
    })
    let over: (outcome: string) => void
    const end = new Promise<string>((resolve) => {
      over = resolve
    })
    const chunks: Buffer[] = []
    const url = new URL(path, server.origin)
    const call = wire.send(
      { method: 'POST', url, headers: {}, body: Buffer.from('body'), ...given },
      {
        head: (status) => headed(status),
        chunk: (bytes) => chunks.push(bytes),
        end: () => over(Buffer.concat(chunks).toString()),
        error: (cause, sent) => over(`${sent ? 'sent' : 'not sent'}: ${cause.message}`),
      },
    )
    return { call, head, end }
  }
  return { server, wire, send, sockets }
}

describe('redirects (design §11)', () => {
  it.each([307, 308])('%i within the origin is followed with verb, headers and body', async (status) => {
    const { send } = await start((request, response) => {
      if (request.url !== '/there?x=1') {
        response.writeHead(status, { location: 'there?x=1' }).end('moved')
        return
      }
      let body = ''
      request.on('data', (chunk) => {
        body += String(chunk)
      })
      request.on('end', () => response.end(`${request.method} ${request.headers.authorization} ${body}`))
    })
    const { head, end } = send('/here', { headers: { authorization: 'Bearer a' } })
    expect(await head).toBe(200)
    expect(await end).toBe('POST Bearer a body')
  })

  it.each<[string, number, string]>([
    ['to another origin', 307, 'http://localhost:1/'],
    ['to another scheme', 308, 'https://127.0.0.1/'],
    ['without a target', 307, ''],
    ['that would change the verb', 302, '/there'],
  ])('one %s is an answer like any other', async (_name, status, location) => {
    const { send, sockets } = await start((_request, response) => {
      response.writeHead(status, location === '' ? {} : { location }).end('moved')
    })
    const { head, end } = send('/here')
    expect(await head).toBe(status)
    expect(await end).toBe('moved')
    expect(sockets.size).toBe(1)
  })

  it('a chain of them ends', async () => {
    let count = 0
    const { send } = await start((_request, response) => {
      count += 1
      response.writeHead(307, { location: '/here' }).end()
    })
    expect(await send('/here').head).toBe(307)
    expect(count).toBe(4)
  })
})

describe('sockets', () => {
  it('one that is free is used again; busy ones hold nobody up', async () => {
    const { send, wire, sockets } = await start((request, response) => {
      request.resume()
      if (request.url === '/silent') return
      response.end('ok')
    })
    const silent = Array.from({ length: 50 }, () => send('/silent').call)
    for (let count = 0; count < 10; count += 1) {
      expect(await send('/answer').end).toBe('ok')
      // A socket is free again a turn after the response.
      await new Promise((resolve) => setImmediate(resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(sockets.size).toBe(51)
    expect(wire.busy()).toBe(50)
    for (const each of silent) each.abort()
    expect(wire.busy()).toBe(0)
  })

  it('an aborted request closes its socket, and none is opened in its place', async () => {
    let connections = 0
    let gone: (() => void) | undefined
    const { send, server } = await start((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      request.socket.once('close', () => gone?.())
      connections += 1
    })
    const { call, head } = send('/stream')
    await head
    const closed = new Promise<void>((resolve) => {
      gone = resolve
    })
    call.abort()
    await closed
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(connections).toBe(1)
    const second = await fetch(`${server.origin}/`, { signal: AbortSignal.timeout(1_000) })
    expect(second.status).toBe(200)
    await second.body?.cancel()
  })

  it('one that the server has closed is not counted on', async () => {
    const { send, sockets } = await start((_request, response) => {
      response.writeHead(200, { connection: 'close' }).end('ok')
    })
    for (let count = 0; count < 3; count += 1) expect(await send('/').end).toBe('ok')
    expect(sockets.size).toBe(3)
  })
})

describe('failures', () => {
  it('tells whether anything was sent', async () => {
    const { send, server } = await start((request) => request.socket.destroy())
    expect(await send('/').end).toMatch(/^sent: /)
    await server.close()
    const wire = createWire(new URL(`http://127.0.0.1:${await freePort()}`))
    const outcome = await new Promise<boolean>((resolve) => {
      wire.send(
        { method: 'POST', url: new URL('http://127.0.0.1/'), headers: {} },
        {
          head: () => undefined,
          chunk: () => undefined,
          end: () => resolve(true),
          error: (_, sent) => resolve(sent),
        },
      )
    })
    expect(outcome).toBe(false)
    await wire.close()
  })

  it('closing fails what is under way, and whatever comes later', async () => {
    const { send, wire } = await start((request) => void request.resume())
    const before = send('/')
    const closing = wire.close()
    expect(await before.end).toContain('the gateway closed')
    await closing
    expect(await send('/').end).toContain('the gateway closed')
  })
})
