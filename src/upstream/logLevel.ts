import type { Clock } from '../clock.ts'
import { atLeast } from '../mcp/logLevel.ts'
import type { Headers, Session } from './session.ts'

const WAIT_MS = 2_000

/**
 * Sets a session's log level where it is less verbose than a request needs (X-LOG-01). Whatever comes of it,
 * the call goes on: messages are filtered for each request all the same.
 */
export function createLogLevel(clock: Clock) {
  const levels = new WeakMap<Session, string>()

  return async function need(
    session: Session,
    id: number,
    level: string,
    credentials: Headers,
  ): Promise<void> {
    const set = levels.get(session)
    if (session.handshake.capabilities.logging === undefined) return
    if (set !== undefined && atLeast(level, set)) return
    levels.set(session, level)
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'logging/setLevel', params: { level } })
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stop()
        resolve()
      }
      const stop = clock.after(WAIT_MS, () => {
        call.drop()
        resolve()
      })
      const nothing = (): void => undefined
      const sink = {
        response: done,
        failed: done,
        question: nothing,
        withdrawn: nothing,
        notification: nothing,
        lost: nothing,
      }
      const call = session.call(id, Buffer.from(body), credentials, sink)
    })
  }
}
