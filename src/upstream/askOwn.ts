import type { Clock } from '../clock.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import type { Headers, Session } from './session.ts'

export interface OwnRequest {
  readonly id: number
  readonly method: string
  readonly params: object
  readonly credentials: Headers
  /** How long the response is waited for. */
  readonly ms: number
}

/** Sends a request of our own on a session; undefined if it failed or drew no response in time. */
export function askOwn(
  clock: Clock,
  session: Session,
  { id, method, params, credentials, ms }: OwnRequest,
): Promise<IncomingResponse | undefined> {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  return new Promise((resolve) => {
    const over = (response?: IncomingResponse): void => {
      stop()
      resolve(response)
    }
    const stop = clock.after(ms, () => {
      call.drop()
      resolve(undefined)
    })
    const nothing = (): void => undefined
    const call = session.call(id, body, credentials, {
      response: over,
      failed: () => over(),
      question: nothing,
      withdrawn: nothing,
      notification: nothing,
      lost: nothing,
    })
  })
}
