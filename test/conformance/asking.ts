import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type {
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitResult,
  ListRootsResult,
  ServerNotification,
  ServerRequest,
} from '@modelcontextprotocol/sdk/types.js'
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  ListRootsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'

export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>
export type Form = ElicitRequestFormParams

/**
 * How the server reaches its client in the middle of a call: on the call's own stream, on the session's
 * standing stream, or on the call's own stream that it lets go of again and again.
 */
export type Way = 'call' | 'session' | 'resumed'

export interface Asking {
  elicit(extra: Extra, form: Form): Promise<ElicitResult>
  /** The same under a JSON-RPC id of the server's choice, a string, which SDK v1 has no function for. */
  elicitAs(id: string, extra: Extra, form: Form): Promise<ElicitResult>
  sample(extra: Extra, text: string, maxTokens: number): Promise<CreateMessageResult>
  roots(extra: Extra): Promise<ListRootsResult>
  notify(extra: Extra, notification: ServerNotification): Promise<void>
}

/** The questions of a legacy server, by what SDK v1 offers. */
export function createAsking(server: Server, transport: Transport, way: Way): Asking {
  const named = createNamed(transport)

  /** The client has to come back for what follows: its stream is closed, and the rest waits in the event store. */
  async function lettingGo<T>(extra: Extra, asked: Promise<T>): Promise<T> {
    if (way !== 'resumed') return await asked
    extra.closeSSEStream?.()
    const answer = await asked
    extra.closeSSEStream?.()
    return answer
  }

  return {
    elicit: (extra, params) =>
      way === 'session'
        ? server.elicitInput(params)
        : lettingGo(extra, extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema)),
    elicitAs: async (id, extra, params) =>
      ElicitResultSchema.parse(
        await lettingGo(
          extra,
          named.request(id, { method: 'elicitation/create', params }, way === 'session' ? undefined : extra),
        ),
      ),
    sample(extra, text, maxTokens) {
      const params = {
        maxTokens,
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
      }
      if (way === 'session') return server.createMessage(params)
      const asked = extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema)
      return lettingGo(extra, asked)
    },
    roots: (extra) =>
      way === 'session'
        ? server.listRoots()
        : lettingGo(extra, extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema)),
    notify: (extra, notification) =>
      way === 'session' ? server.notification(notification) : extra.sendNotification(notification),
  }
}

/** Requests under ids of our own; their responses never reach the SDK, which knows numbers only. */
function createNamed(transport: Transport) {
  const waiting = new Map<string | number, (answered: Promise<unknown>) => void>()
  const { onmessage } = transport
  transport.onmessage = (message, extra) => {
    if (isJSONRPCResultResponse(message)) {
      const take = waiting.get(message.id)
      if (take !== undefined) return take(Promise.resolve(message.result))
    }
    if (isJSONRPCErrorResponse(message) && message.id !== undefined) {
      const take = waiting.get(message.id)
      if (take !== undefined) return take(Promise.reject(new Error(message.error.message)))
    }
    onmessage?.(message, extra)
  }

  async function request(
    id: string,
    { method, params }: { method: string; params: Form },
    call: Extra | undefined,
  ): Promise<unknown> {
    const answered = new Promise<unknown>((resolve) => waiting.set(id, resolve))
    const message = { jsonrpc: '2.0' as const, id, method, params: { ...params } }
    await transport.send(message, call && { relatedRequestId: call.requestId })
    return await answered.finally(() => waiting.delete(id))
  }

  return { request }
}
