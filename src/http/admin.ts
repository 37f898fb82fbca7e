import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listenAt } from './address.ts'

export interface AdminOptions {
  readonly listen: string
  readonly ready: () => boolean
}

/** Health for whoever runs the process: `/healthz` says that it lives, `/readyz` that it takes calls (case 49). */
export function createAdmin({ listen, ready }: AdminOptions) {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    const found = path === '/healthz' || path === '/readyz'
    const ok = found && (path === '/healthz' || ready())
    const text = ok ? 'ok\n' : found ? 'draining\n' : 'not found\n'
    response.writeHead(ok ? 200 : found ? 503 : 404, {
      'content-type': 'text/plain',
      'cache-control': 'no-store',
    })
    response.end(text)
  })

  return {
    /** @throws the error of `net.Server.listen` */
    listen: (): Promise<AddressInfo> => listenAt(server, listen),
    close(): Promise<void> {
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}
