import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: number | string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { code: number; message: string }
}

/** What the demo shows of the upstream's side: the message, and whether the server sent or received it. */
export type Watch = (direction: 'received' | 'sent', message: Message) => void

/**
 * A small server of revision 2024-11-05's transport, as many are in use: one SSE stream a session, messages
 * POSTed to the endpoint that it names. Its one tool, `plan_trip`, asks for a form, a completion and the
 * client's roots in the middle of the call.
 */
export async function startLegacyServer(watch: Watch): Promise<{ url: string; close(): void }> {
  const sessions = new Map<string, ReturnType<typeof openSession>>()

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (request.method === 'GET' && url.pathname === '/sse') {
      const id = randomUUID()
      sessions.set(id, openSession(response, id, watch))
      response.on('close', () => sessions.delete(id))
    } else if (request.method === 'POST' && url.pathname === '/messages') {
      const session = sessions.get(url.searchParams.get('session') ?? '')
      if (session === undefined) response.writeHead(404).end()
      else void receive(request, response, session.take)
    } else response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/sse`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  take: (message: Message) => void,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  response.writeHead(202).end()
  take(JSON.parse(Buffer.concat(chunks).toString()))
}

function openSession(response: ServerResponse, id: string, watch: Watch) {
  const waiting = new Map<number | string, (result: Record<string, unknown>) => void>()
  let questions = 0
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(`event: endpoint\ndata: /messages?session=${id}\n\n`)

  function send(message: Omit<Message, 'jsonrpc'>): void {
    const whole: Message = { jsonrpc: '2.0', ...message }
    watch('sent', whole)
    response.write(`event: message\ndata: ${JSON.stringify(whole)}\n\n`)
  }

  /** Sends a request to the client and waits for its answer, as legacy servers do. */
  function ask(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    questions += 1
    const question = questions
    return new Promise((resolve) => {
      waiting.set(question, resolve)
      send({ id: question, method, params })
    })
  }

  async function planTrip(call: number | string): Promise<void> {
    const form = await ask('elicitation/create', {
      message: 'Where do you want to go?',
      requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    })
    const city = (form.content as { city?: string } | undefined)?.city ?? 'nowhere'
    const [advice, folders] = await Promise.all([
      ask('sampling/createMessage', {
        messages: [{ role: 'user', content: { type: 'text', text: `One thing to see in ${city}?` } }],
        maxTokens: 50,
      }),
      ask('roots/list', {}),
    ])
    const sight = (advice.content as { text?: string } | undefined)?.text ?? 'nothing'
    const [root] = (folders.roots ?? []) as { uri: string }[]
    send({
      id: call,
      result: { content: [{ type: 'text', text: `${city}: see ${sight}. Notes go to ${root?.uri}` }] },
    })
  }

  function take(message: Message): void {
    watch('received', message)
    const { id: number, method } = message
    if (method === undefined) {
      if (number !== undefined) waiting.get(number)?.(message.result ?? {})
    } else if (number === undefined) return
    else if (method === 'initialize') {
      send({
        id: number,
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'travel-desk', version: '1.0.0' },
        },
      })
    } else if (method === 'tools/list') {
      const tool = { name: 'plan_trip', description: 'Plans a trip', inputSchema: { type: 'object' } }
      send({ id: number, result: { tools: [tool] } })
    } else if (method === 'tools/call') void planTrip(number)
    else send({ id: number, error: { code: -32601, message: 'Method not found' } })
  }

  return { take }
}
