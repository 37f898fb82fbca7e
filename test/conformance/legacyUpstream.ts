import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { listening } from '../fixtures/listening.ts'
import { type Asking, createAsking, type Way } from './asking.ts'
import { createEventStore } from './eventStore.ts'
import { createLegacyServer } from './legacyServer.ts'

/**
 * What the server uses of its transport: `post` asks on the response to the call, `get` on the standing GET
 * stream, `resumption` lets go of the response and is resumed by event id, `sse` is HTTP+SSE of 2024-11-05.
 */
export type Flavour = 'post' | 'get' | 'resumption' | 'sse'

const WAYS: Readonly<Record<Flavour, Way>> = {
  post: 'call',
  get: 'session',
  resumption: 'resumed',
  sse: 'session',
}
const RETRY_MS = 20

type LegacyTransport = SSEServerTransport | StreamableHTTPServerTransport

/** The suite's legacy server on a free port. */
export async function startLegacyUpstream(flavour: Flavour) {
  const sessions = new Map<string, { server: Server; transport: LegacyTransport }>()
  let resumed = 0

  async function connect(transport: LegacyTransport): Promise<Server> {
    let ask: Asking | undefined
    const server = createLegacyServer(() => {
      if (ask === undefined) throw new Error('a call before the connection')
      return { ask, client: () => ({ ...server.getClientCapabilities() }), changed }
    })
    await server.connect(transport)
    ask = createAsking(server, transport, WAYS[flavour])
    const { onclose } = transport
    transport.onclose = () => {
      sessions.delete(transport.sessionId ?? '')
      onclose?.()
    }
    return server
  }

  async function changed(list: 'tools' | 'prompts'): Promise<void> {
    for (const { server } of sessions.values()) {
      await (list === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged())
    }
  }

  async function serveStreamable(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = incoming.headers['mcp-session-id']
    if (incoming.headers['last-event-id'] !== undefined) resumed += 1
    if (typeof id === 'string') {
      const known = sessions.get(id)?.transport
      if (known instanceof StreamableHTTPServerTransport) return await known.handleRequest(incoming, response)
      response.writeHead(404).end()
      return
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (given) => void sessions.set(given, { server, transport }),
      ...(flavour === 'resumption' && { eventStore: createEventStore(), retryInterval: RETRY_MS }),
    })
    const server = await connect(transport)
    await transport.handleRequest(incoming, response)
  }

  async function serveSse(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://localhost')
    if (incoming.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/message', response)
      sessions.set(transport.sessionId, { server: await connect(transport), transport })
      return
    }
    const known = sessions.get(url.searchParams.get('sessionId') ?? '')?.transport
    if (known instanceof SSEServerTransport) return await known.handlePostMessage(incoming, response)
    response.writeHead(404).end()
  }

  const serve = flavour === 'sse' ? serveSse : serveStreamable
  const server = await listening((incoming, response) => {
    serve(incoming, response).catch((error) => response.destroy(error))
  })

  return {
    url: `${server.origin}${flavour === 'sse' ? '/sse' : '/mcp'}`,
    /** How often a client came back for the rest of a stream. */
    resumed: () => resumed,
    async close(): Promise<void> {
      for (const { transport } of [...sessions.values()]) await transport.close()
      await server.close()
    },
  }
}
