import type { IncomingMessage } from 'node:http'
import { ProtocolError } from '../errors.ts'

/** The client went before its request was complete; there is nobody to tell. */
export class ClientGone extends Error {}

/**
 * Reads a request body of at most `maxBytes`. A longer one is refused as soon as that is known, by its declared
 * length or by count.
 *
 * @throws ProtocolError 413, ClientGone
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): ProtocolError => new ProtocolError(-32600, `the body is larger than ${maxBytes} bytes`, 413)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) {
        request.pause()
        reject(tooLarge())
      } else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    request.on('error', () => reject(new ClientGone()))
    request.on('close', () => reject(new ClientGone()))
  })
}
