import { Client, type Dispatcher } from 'undici'

const CONNECT_TIMEOUT_MS = 10_000
/** Servers close idle sockets after 5 s or so; we give them up before, so that no request meets a closing one. */
const IDLE_SOCKET_MS = 4_000

/**
 * Connections to one origin, as many as there are requests under way: suspended calls hold thousands, and an
 * answer must never queue behind one of them. Taking one costs the same however many are in use, and one that
 * lost its socket is forgotten. Nothing limits how long a response may take: a suspended call is a response
 * that is silent for as long as a person thinks.
 */
export function createConnections(origin: string) {
  const all = new Set<Client>()
  /** The one used last is at the end: a burst's surplus grows idle and is closed. */
  const idle: Client[] = []

  /**
   * Sends a request on a connection that nobody else uses. The returned function closes it; after an abort of
   * its own, the client would connect again for nothing.
   */
  function dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): () => void {
    const client = idle.pop() ?? connect()
    client.dispatch(request, handler)
    return () => forget(client)
  }

  function connect(): Client {
    const client = new Client(origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_SOCKET_MS,
      keepAliveMaxTimeout: IDLE_SOCKET_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
    })
    all.add(client)
    // Its request is over; without a socket by then, there is nothing to keep.
    client.on('drain', () => {
      const { connected, size } = client.stats
      if (!connected) forget(client)
      else if (size === 0 && all.has(client) && !idle.includes(client)) idle.push(client)
    })
    client.on('disconnect', () => {
      const index = idle.lastIndexOf(client)
      if (index < 0) return
      idle.splice(index, 1)
      forget(client)
    })
    return client
  }

  function forget(client: Client): void {
    if (all.delete(client)) void client.destroy()
  }

  return {
    dispatch,
    async close(): Promise<void> {
      idle.length = 0
      const left = [...all]
      all.clear()
      await Promise.all(left.map((client) => client.destroy()))
    },
  }
}
