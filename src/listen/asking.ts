import type { Clock } from '../clock.ts'
import { UpstreamRefusal } from '../errors.ts'
import type { Headers, Session } from '../upstream/session.ts'

/** `unknown`: no answer came in time, or the session broke. */
export type Verdict = 'yes' | 'no' | 'unknown'

export interface AskingOptions {
  readonly clock: Clock
  readonly nextId: () => number
  readonly credentials: Headers
}

/** Requests of our own on a session that calls share, each bounded in time. */
export function createAsking({ clock, nextId, credentials }: AskingOptions) {
  const unanswered = new Set<() => void>()

  /**
   * Asks and waits at most `ms`; an error of the upstream is a no.
   *
   * @throws UpstreamRefusal (401, 403)
   */
  function ask(session: Session, method: string, params: object, ms: number): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const id = nextId()
      const over = (verdict: Verdict): void => {
        if (!unanswered.delete(giveUp)) return
        stop()
        resolve(verdict)
      }
      const giveUp = (): void => {
        call.drop()
        over('unknown')
      }
      const stop = clock.after(ms, giveUp)
      unanswered.add(giveUp)
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      const call = session.call(id, body, credentials, {
        response: ({ ok }) => over(ok ? 'yes' : 'no'),
        failed({ error }) {
          if (error instanceof UpstreamRefusal) reject(error)
          over('unknown')
        },
        question: (request) => void session.answer(request.id, NOBODY, credentials).catch(() => undefined),
        withdrawn: () => undefined,
        notification: () => undefined,
        lost: () => over('unknown'),
      })
    })
  }

  return {
    ask,
    /** Waits for no answer any more. */
    stop(): void {
      for (const giveUp of unanswered) giveUp()
    },
  }
}

export type Asking = ReturnType<typeof createAsking>

const NOBODY = Buffer.from('"error":{"code":-32601,"message":"nobody can be asked here"}')
