import type { GatewayError } from '../../../src/errors.ts'
import type { OpenRequest } from '../../../src/upstream/opening.ts'
import type { Session } from '../../../src/upstream/session.ts'

export interface FakeSession {
  readonly session: Session
  readonly principal: string
  /** Rises in the order in which openings began. */
  readonly serial: number
  closed: boolean
  /** The upstream ends it. */
  lose(error: GatewayError): void
}

/** A session that does nothing but live and end. */
export function fakeSession(
  request: OpenRequest,
  { principal, serial, sessionful = true }: { principal: string; serial: number; sessionful?: boolean },
): FakeSession {
  let retired = false
  const fake: FakeSession = {
    principal,
    serial,
    closed: false,
    lose(error) {
      retired = true
      fake.closed = true
      request.onLost(error)
    },
    session: {
      handshake: {
        revision: '2025-11-25',
        result: Buffer.from('{}'),
        capabilities: {},
        serverInfo: undefined,
      },
      listening: () => true,
      sessionful: () => sessionful,
      inFlight: () => 0,
      call: () => ({ drop: () => undefined }),
      notify: async () => undefined,
      answer: async () => undefined,
      attach: () => () => undefined,
      completed: async () => undefined,
      takeRoots: () => [],
      keepRoots: () => undefined,
      fresh: () => true,
      retired: () => retired,
      retire() {
        if (retired) return
        retired = true
        request.onRetired()
      },
      async close() {
        retired = true
        fake.closed = true
      },
    },
  }
  return fake
}
