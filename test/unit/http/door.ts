import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Clock, createClock } from '../../../src/clock.ts'
import type { DoorOptions } from '../../../src/http/pass.ts'
import { createDoor } from '../../../src/http/server.ts'
import { createLog } from '../../../src/observe/log.ts'
import { optionsSchema } from '../../../src/options/schema.ts'
import { requestBody } from '../mcp/requests.ts'

const log = createLog('silent')
export const NOW = '2026-07-28'

interface DoorUnderTest {
  readonly listen?: string
  readonly serve?: DoorOptions['serve']
  readonly identifyFor?: DoorOptions['identifyFor']
  readonly http?: object
  readonly limits?: object
  readonly upstream?: object
  readonly clock?: Clock
}

/** A door on a free port; without `serve` it answers every request with `{}`. When it is closed nothing is left. */
export async function openDoor(given: DoorUnderTest = {}) {
  const options = optionsSchema.parse({
    listen: given.listen ?? '127.0.0.1:0',
    routes: [
      { path: '/mcp', legacyClients: 'refuse', upstream: { url: 'http://127.0.0.1:9/', ...given.upstream } },
    ],
    http: given.http,
    limits: given.limits,
  })
  const clock = given.clock ?? createClock()
  const door = createDoor({
    options,
    identifyFor:
      given.identifyFor ??
      (() => () => ({
        principal: 'p',
        principalFor: () => Buffer.from('p'),
        context: 'c',
        anonymous: true,
        credentials: {},
      })),
    passthroughFor: () => undefined,
    upgradedFor: () => undefined,
    serve: given.serve ?? ((_route, { id }, answer) => answer.end(resultOf(id))),
    log,
    clock,
  })
  const { port } = await door.listen()
  onTestFinished(() => door.close())
  return { door, port, clock }
}

/** The parts of a result. */
export const resultOf = (id: Buffer): Buffer[] => [
  Buffer.from('{"jsonrpc":"2.0","id":'),
  id,
  Buffer.from(',"result":{}}'),
]

/** Header lines of a good POST of a call, changed by `changes`; `undefined` leaves one out. */
export function headLines(changes: Record<string, string | undefined> = {}): Record<string, string> {
  const lines = {
    host: 'localhost',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': NOW,
    'mcp-method': 'tools/list',
    ...changes,
  }
  return Object.fromEntries(
    Object.entries(lines).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

export const LIST = JSON.stringify(requestBody('tools/list'))

/** A request's bytes; `extra` header lines may repeat names. */
export function posted(
  body: string | Buffer = LIST,
  changes: Record<string, string | undefined> = {},
  extra: readonly string[] = [],
  line = 'POST /mcp HTTP/1.1',
): Buffer {
  const bytes = Buffer.from(body)
  const lines = Object.entries(headLines({ 'content-length': String(bytes.length), ...changes }))
  const head = [line, ...lines.map(([name, value]) => `${name}: ${value}`), ...extra, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes])
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: { id?: unknown; result?: unknown; error?: { code: number; message: string; data?: unknown } }
}

/** A bare connection whose bytes can be awaited. */
export async function dial(port: number, host = '127.0.0.1') {
  const socket: Socket = connect(port, host)
  let text = ''
  let over = false
  let wake = (): void => undefined
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    wake()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    over = true
    wake()
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  onTestFinished(() => void socket.destroy())

  /** Waits until `found` finds something in what came, or the connection is over. */
  async function until<T>(found: (text: string) => T | undefined): Promise<T> {
    for (;;) {
      const value = found(text)
      if (value !== undefined) return value
      if (over) throw new Error(`the connection ended after: ${text}`)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    socket,
    send: (bytes: Buffer | string) => socket.write(bytes),
    text: () => text,
    includes: (part: string) => until((all) => (all.includes(part) ? true : undefined)),
    /** The next whole response with a content-length; it is taken away. */
    async reply(): Promise<Reply> {
      const [reply, bytes] = await until(readReply)
      text = text.slice(bytes)
      return reply
    },
    async ended(): Promise<string> {
      while (!over) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return text
    },
  }
}

function readReply(text: string): [Reply, number] | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const total = end + 4 + Number(headers['content-length'] ?? 0)
  if (text.length < total) return undefined
  const body = Buffer.from(text.slice(end + 4, total), 'latin1').toString()
  return [
    { status: Number(first.split(' ')[1]), headers, body, json: body === '' ? {} : JSON.parse(body) },
    total,
  ]
}

/** Sends one request on a connection of its own. */
export async function ask(port: number, bytes: Buffer | string): Promise<Reply> {
  const connection = await dial(port)
  connection.send(bytes)
  const reply = await connection.reply()
  connection.socket.destroy()
  return reply
}
