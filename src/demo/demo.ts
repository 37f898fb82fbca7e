import { createGateway } from '../gateway.ts'
import { loadOptions } from '../options/load.ts'
import { startLegacyServer } from './legacyServer.ts'
import { createNarrator, type Narrator } from './narrator.ts'

const REVISION = '2026-07-28'

/**
 * Shows a call that takes two rounds: a legacy server on the old SSE transport, the proxy, and the official
 * client pinned to 2026-07-28. Every message that is printed went over a socket.
 *
 * @returns the exit code: 0 only if the call completed
 */
export async function runDemo(): Promise<number> {
  const narrator = createNarrator((text) => process.stdout.write(text), process.stdout.isTTY === true)
  const sdk = await import('@modelcontextprotocol/client').catch(() => undefined)
  if (sdk === undefined) {
    narrator.say(
      'The demo needs @modelcontextprotocol/client 2.x: run it from a checkout, or install that package.',
    )
    return 2
  }

  narrator.step(
    '1. A server that nobody will rewrite: HTTP+SSE of 2024-11-05, a session, questions in mid-call.',
  )
  const server = await startLegacyServer((direction, message) => {
    if (message.method !== undefined || message.id !== undefined) {
      narrator.message(
        direction === 'received' ? 'proxy → server' : 'proxy ← server',
        kindOf(message),
        message,
      )
    }
  })
  const gateway = createGateway(
    loadOptions({ env: {}, flags: { upstream: server.url, listen: '127.0.0.1:0', admin: 'off' } }),
  )
  try {
    const { url } = await gateway.listen()
    narrator.say(`   server  ${server.url}\n   proxy   ${url('/mcp')}`)
    const text = await call(sdk, url('/mcp'), narrator)
    narrator.step(`5. Done: "${text}"`)
    narrator.say(
      '   The server saw one tools/call in one session, and its questions answered there. The client sent that call\n   three times, each a plain request on its own: nothing stayed open between them.',
    )
    return text.includes('Lisbon') && text.includes('castle') && text.includes('file:///home/me/trips')
      ? 0
      : 1
  } finally {
    await gateway.close()
    server.close()
  }
}

async function call(
  sdk: typeof import('@modelcontextprotocol/client'),
  url: string,
  narrator: Narrator,
): Promise<string> {
  const client = new sdk.Client(
    { name: 'demo-client', version: '1.0.0' },
    {
      capabilities: { elicitation: {}, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: REVISION } },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: { city: 'Lisbon' },
  }))
  client.setRequestHandler('sampling/createMessage', async () => ({
    role: 'assistant',
    model: 'demo-model',
    content: { type: 'text', text: 'the castle' },
  }))
  client.setRequestHandler('roots/list', async () => ({
    roots: [{ uri: 'file:///home/me/trips', name: 'trips' }],
  }))

  let rounds = 0
  const watched: typeof fetch = async (input, init) => {
    const request: Shown | undefined = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    if (request !== undefined) narrator.message('client → proxy', kindOf(request), request)
    const response = await fetch(input, init)
    if (response.headers.get('content-type')?.includes('json')) {
      const answer: Shown = JSON.parse(await response.clone().text())
      narrator.message('client ← proxy', kindOf(answer), answer)
      if (answer.result?.resultType === 'input_required') {
        rounds += 1
        narrator.step(
          `${rounds + 2}. The call is suspended and the response is over. The client gathers the answers and sends it again.`,
        )
      }
    }
    return response
  }
  narrator.step(`2. A client of ${REVISION} connects (it asks what the server is) and calls the tool.`)
  await client.connect(new sdk.StreamableHTTPClientTransport(new URL(url), { fetch: watched }))
  const result = await client.callTool({ name: 'plan_trip', arguments: {} })
  await client.close()
  if (rounds !== 2) throw new Error(`the call took ${rounds} rounds, not two`)
  const [content] = Array.isArray(result.content) ? result.content : []
  return content?.type === 'text' ? content.text : ''
}

interface Shown {
  readonly method?: string
  readonly id?: unknown
  readonly result?: { readonly resultType?: unknown }
  readonly error?: unknown
}

function kindOf(message: Shown): string {
  if (message.method !== undefined)
    return message.id === undefined ? `notification ${message.method}` : `request ${message.method}`
  if (message.error !== undefined) return 'error'
  return typeof message.result?.resultType === 'string'
    ? `result, resultType "${message.result.resultType}"`
    : 'result'
}
