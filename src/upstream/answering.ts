import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Channel } from './channel.ts'
import { refusal } from './sseChannel.ts'
import type { WireCall } from './wire.ts'

type Headers = Readonly<Record<string, string>>

const REPEATS = 2
const REPEAT_AFTER_MS = 50
/** How long the body of an accepted answer or notification may go on before its socket is closed. */
const IGNORED_BODY_MS = 5_000

/**
 * Posts what draws no response: answers to server requests, and notifications. Any 2xx accepts, whatever its
 * body (L-HTTP-01, case 4).
 */
export function createAnswering({ channel, clock }: { channel: Channel; clock: Clock }) {
  const timers = new Set<() => void>()
  const posts = new Set<WireCall>()

  function after(ms: number, act: () => void): void {
    const stop = clock.after(ms, () => {
      timers.delete(stop)
      act()
    })
    timers.add(stop)
  }

  /** Posts once; `retry` says that the upstream closed the socket before it said anything. */
  function post(body: Buffer, credentials: Headers): Promise<{ retry: boolean; error?: Error }> {
    return new Promise((resolve) => {
      let headed = false
      const call = channel.post(body, credentials, {
        message: () => undefined,
        head(status) {
          headed = true
          if (status < 200 || status > 299) return
          resolve({ retry: false })
          after(IGNORED_BODY_MS, () => {
            if (posts.delete(call)) call.abort()
          })
        },
        accepted: () => void posts.delete(call),
        ended: () => void posts.delete(call),
        refused(refused) {
          posts.delete(call)
          const status = refused.status
          // X-ANS-09: 404 is a lost session, any other 4xx a word of the upstream on the answer.
          const reason = status === 404 ? 'upstream_closed' : 'upstream_protocol'
          const error = new GatewayError(reason, `the upstream answered ${status} to an answer`)
          resolve({ retry: false, error: refusal(refused) ?? error })
        },
        failed(error) {
          posts.delete(call)
          resolve({ retry: !headed, error })
        },
      })
      posts.add(call)
    })
  }

  /** Posts an answer; a connection that failed before a response head is no reason to lose a person's work. */
  async function answer(id: Buffer, payload: Buffer, credentials: Headers): Promise<void> {
    const body = Buffer.concat([HEAD, id, COMMA, payload, TAIL])
    for (let attempt = 0; ; attempt += 1) {
      const { retry, error } = await post(body, credentials)
      if (error === undefined) return
      if (!retry || attempt === REPEATS) throw error
      await new Promise<void>((resolve) => after(REPEAT_AFTER_MS, resolve))
    }
  }

  /**
   * Posts a notification and waits for its 2xx.
   *
   * @throws UpstreamRefusal, GatewayError
   */
  async function notify(body: Buffer, credentials: Headers): Promise<void> {
    const { error } = await post(body, credentials)
    if (error !== undefined) throw error
  }

  return {
    answer,
    notify,
    close() {
      for (const stop of timers) stop()
      timers.clear()
      for (const call of posts) call.abort()
      posts.clear()
    },
  }
}

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":')
const COMMA = Buffer.from(',')
const TAIL = Buffer.from('}')
