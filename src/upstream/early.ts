import type { GatewayError } from '../errors.ts'
import type { Incoming } from '../mcp/message.ts'
import type { SharedSink } from './channel.ts'

/** The shared stream of a session that is being opened. */
export interface Early {
  readonly sink: SharedSink
  /** Whose the messages are for now; what `take` leaves is kept for the session. */
  take: (message: Incoming) => void
  keep(message: Incoming): void
  /** The session is there: it gets what was kept, and everything from now on. */
  handOver(session: SharedSink): void
}

/** Keeps what the upstream says before its session is there to hear it; `onLost` hears of the channel's end. */
export function createEarly(onLost: (error: GatewayError) => void): Early {
  const kept: Incoming[] = []
  let session: SharedSink | undefined
  const early: Early = {
    sink: {
      message: (message) => (session === undefined ? early.take(message) : session.message(message)),
      lost(error) {
        session?.lost(error)
        onLost(error)
      },
      deaf: () => session?.deaf(),
    },
    take: (message) => early.keep(message),
    keep: (message) => void kept.push(message),
    handOver(to) {
      session = to
      for (const message of kept.splice(0)) to.message(message)
    },
  }
  return early
}
