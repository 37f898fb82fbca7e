import type { IncomingMessage } from 'node:http'
import { ProtocolError } from '../errors.ts'

/** The client went before its request was complete; there is nobody to tell. */
export class ClientGone extends Error {}

/**
 * Reads a request body of at most `maxBytes`. A longer one is refused as soon as that is known, by its declared
 * length or by count; then the rest of it is still to be read or cut off. `begin` is called once the declared
 * length is accepted (for a client that waits for `100 Continue`).
 *
 * @throws ProtocolError 413, ClientGone
 */
export function readBody(request: IncomingMessage, maxBytes: number, begin?: () => unknown): Promise<Buffer> {
  const tooLarge = (): ProtocolError =>
    new ProtocolError(-32600, `the body is larger than ${maxBytes} bytes`, 413)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge())
  begin?.()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', take)
    request.on('end', () => {
      // What closes after its end is no loss, and an error costs its stack.
      request.off('close', gone)
      resolve(joined(chunks))
    })
    request.on('error', gone)
    request.on('close', gone)

    function take(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes <= maxBytes) {
        chunks.push(chunk)
        return
      }
      chunks.length = 0
      request.off('data', take)
      request.pause()
      reject(tooLarge())
    }

    function gone(): void {
      reject(new ClientGone())
    }
  })
}

/** Nearly every body comes in one piece. */
function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
