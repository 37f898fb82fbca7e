import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

/** Keeps every event of a session, in order, for clients that come back with `Last-Event-ID`. */
export function createEventStore(): EventStore {
  const events: { id: string; stream: string; message: JSONRPCMessage }[] = []
  const find = (id: string): number => events.findIndex((each) => each.id === id)

  return {
    async storeEvent(stream, message) {
      const id = `event-${events.length}`
      events.push({ id, stream, message })
      return id
    },
    async getStreamIdForEventId(id) {
      return events[find(id)]?.stream
    },
    async replayEventsAfter(id, { send }) {
      const last = find(id)
      const stream = events[last]?.stream
      if (stream === undefined) throw new Error(`no event ${id}`)
      for (const each of events.slice(last + 1)) {
        // A priming event has no message.
        if (each.stream === stream && 'jsonrpc' in each.message) await send(each.id, each.message)
      }
      return stream
    },
  }
}
