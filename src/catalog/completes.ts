import type { Clock } from '../clock.ts'
import { codeOf } from '../mcp/message.ts'
import { askOwn } from '../upstream/askOwn.ts'
import type { Headers, Session } from '../upstream/session.ts'

const WAIT_MS = 2_000
const METHOD_NOT_FOUND = -32601

/**
 * Whether a server of 2024-11-05 completes: that revision had no word for it, so it is asked once a session for
 * what it cannot know, and anything but "method not found" is a yes (X-CAP-04). Undefined for later revisions,
 * which say so themselves.
 */
export function createCompletes(clock: Clock) {
  const known = new WeakMap<Session, Promise<boolean>>()

  return function completes(
    session: Session,
    id: () => number,
    credentials: Headers,
  ): Promise<boolean> | undefined {
    const { revision, capabilities } = session.handshake
    if (revision !== '2024-11-05' || capabilities.completions !== undefined) return undefined
    let asked = known.get(session)
    if (asked === undefined) {
      asked = ask(clock, session, id(), credentials)
      known.set(session, asked)
    }
    return asked
  }
}

async function ask(clock: Clock, session: Session, id: number, credentials: Headers): Promise<boolean> {
  const params = {
    ref: { type: 'ref/prompt', name: 'mrtr-proxy/unknown' },
    argument: { name: 'unknown', value: '' },
  }
  const response = await askOwn(clock, session, {
    id,
    method: 'completion/complete',
    params,
    credentials,
    ms: WAIT_MS,
  })
  return response !== undefined && codeOf(response) !== METHOD_NOT_FOUND
}
