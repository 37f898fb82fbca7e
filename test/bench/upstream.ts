/* A legacy Streamable HTTP server of the least cost, in a process of its own: `node upstream.js json|sse|floor [target]`. */
import { createServer, request as send } from 'node:http'

const [kind = 'json', target = ''] = process.argv.slice(2)
const RESULT = '"result":{"content":[{"type":"text","text":"hello"}]}'
const INITIALIZED =
  '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}'

const server = createServer((request, response) => {
  if (kind === 'floor') {
    const url = new URL(target)
    const up = send(
      {
        host: url.hostname,
        port: url.port,
        path: url.pathname,
        method: request.method,
        headers: request.headers,
        agent,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    request.pipe(up)
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString())
    if (id === undefined) return void response.writeHead(202).end()
    const body = `{"jsonrpc":"2.0","id":${id},${method === 'initialize' ? INITIALIZED : RESULT}}`
    if (method === 'initialize') response.setHeader('mcp-session-id', `s${Math.random()}`)
    if (kind === 'sse') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`event: message\ndata: ${body}\n\n`)
    } else {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      })
      response.end(body)
    }
  })
})
const agent = new (await import('node:http')).Agent({ keepAlive: true, maxSockets: 256 })
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') process.stdout.write(`${address?.port}\n`)
})
