import type { Clock } from '../clock.ts'
import { atLeast } from '../mcp/logLevel.ts'
import { askOwn } from './askOwn.ts'
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
    await askOwn(clock, session, {
      id,
      method: 'logging/setLevel',
      params: { level },
      credentials,
      ms: WAIT_MS,
    })
  }
}
