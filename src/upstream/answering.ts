import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Channel, Headers } from './channel.ts'
import { namesDeadSession, refusal, refusedError } from './failure.ts'
import type { Refused } from './post.ts'

const REPEATS = 2
const REPEAT_AFTER_MS = 50
/** How long the body of an accepted message may go on before its socket is closed. */
const IGNORED_BODY_MS = 5_000

/** What became of one POST; `again` if the connection failed before the upstream said anything. */
interface Posted {
  readonly error?: Error
  readonly again?: boolean
}

/**
 * Posts what draws no response: answers to server requests, and notifications. Any 2xx accepts, whatever its
 * body (L-HTTP-01, case 4). Servers close idle sockets, a duplicate is harmless and a lost answer costs a
 * person's work: so a connection that failed before a response head is tried again, twice.
 */
export function createAnswering({ channel, clock }: { channel: Channel; clock: Clock }) {
  /** What still runs, by how it is ended. */
  const open = new Set<() => void>()
  let closed = false

  function post(body: Buffer, credentials: Headers): Promise<Posted> {
    return new Promise((resolve) => {
      let headed = false
      let stop = (): void => undefined
      const end = (posted: Posted): void => {
        stop()
        open.delete(abort)
        resolve(posted)
      }
      const abort = (): void => {
        call.abort()
        end({ error: closedError() })
      }
      const call = channel.post(body, credentials, {
        message: () => undefined,
        head(status) {
          headed = true
          if (status < 200 || status > 299) return
          resolve({})
          stop = clock.after(IGNORED_BODY_MS, abort)
        },
        accepted: () => end({}),
        ended: () => end({}),
        refused: (refused) => end({ error: refusedAnswer(refused, channel.sessionful()) }),
        failed: (error) => end({ error, again: !headed }),
      })
      open.add(abort)
    })
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        stop()
        open.delete(end)
        resolve()
      }
      const stop = clock.after(REPEAT_AFTER_MS, end)
      open.add(end)
    })
  }

  async function send(body: Buffer, credentials: Headers): Promise<void> {
    for (let attempt = 0; !closed; attempt += 1) {
      const { error, again = false } = await post(body, credentials)
      if (error === undefined) return
      if (!again || attempt === REPEATS) throw error
      await pause()
    }
    throw closedError()
  }

  return {
    /**
     * Answers the server request of this raw id.
     *
     * @throws UpstreamRefusal (401, 403), GatewayError ('upstream_closed' if the session is gone; X-ANS-09)
     */
    answer: (id: Buffer, payload: Buffer, credentials: Headers): Promise<void> =>
      send(Buffer.concat([HEAD, id, COMMA, payload, TAIL]), credentials),
    /**
     * Sends a notification and waits for its 2xx.
     *
     * @throws UpstreamRefusal, GatewayError
     */
    notify: send,
    close() {
      closed = true
      for (const end of open) end()
    },
  }
}

function refusedAnswer(refused: Refused, sessionful: boolean): Error {
  const gone = sessionful && (refused.status === 404 || namesDeadSession(refused.body))
  return (
    refusal(refused) ??
    (gone
      ? new GatewayError('upstream_closed', 'the upstream no longer knows the session')
      : refusedError(refused))
  )
}

const closedError = (): GatewayError => new GatewayError('upstream_closed', 'the session is closed')

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":')
const COMMA = Buffer.from(',')
const TAIL = Buffer.from('}')
