import type { Capabilities } from '../mcp/capabilities.ts'
import type { Headers, Session } from './session.ts'

/** The session that somebody needs. */
export interface Want {
  /** Whose changes it hears: the credential, or a caller without one that is nobody else's like. */
  readonly context: string
  /** Authorization context and capabilities: what sessions may be shared by. */
  readonly key: string
  readonly principal: string
  readonly capabilities: Capabilities
  readonly credentials: Headers
  /** The session serves this exchange alone and is closed after it. */
  readonly once: boolean
}

/** Use of a session by one exchange; given back exactly once. */
export interface Lease {
  readonly session: Session
  /** Nobody else has a call on it. */
  readonly exclusive: boolean
  /** Its exchange waits for a person, or no longer does; of a place that is shared: whoever has it only listens. */
  suspended(yes: boolean): void
  /** To the pool if clean; otherwise an exclusive session is closed (design §4.4). */
  release(clean: boolean): void
}
