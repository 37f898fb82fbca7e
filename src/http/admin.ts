import { createServer } from 'node:http'
import { partsOf } from './server.ts'

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
    response.writeHead(ok ? 200 : found ? 503 : 404, { 'content-type': 'text/plain' })
    response.end(ok ? 'ok\n' : found ? 'draining\n' : 'not found\n')
  })

  return {
    /** @throws the error of `net.Server.listen` */
    listen(): Promise<void> {
      return new Promise((resolve, reject) => {
        const { host, port } = partsOf(listen)
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve()
        })
      })
    },
    close(): Promise<void> {
      return new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}
