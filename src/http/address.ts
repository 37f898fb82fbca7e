import type { AddressInfo, Server } from 'node:net'

/** The two halves of `host:port`; an IPv6 host loses its brackets. */
export function partsOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

/**
 * Opens `server` at `host:port`.
 *
 * @throws the error of `net.Server.listen`, such as EADDRINUSE
 */
export function listenAt(server: Server, address: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const { host, port } = partsOf(address)
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const bound = server.address()
      if (bound === null || typeof bound === 'string') reject(new Error('not listening on a port'))
      else resolve(bound)
    })
  })
}
