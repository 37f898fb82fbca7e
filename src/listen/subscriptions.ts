import type { Verdict } from './asking.ts'
import { createTurns } from './turns.ts'

export interface SubscriptionsOptions {
  /** Asks the upstream on the session of the moment; `unknown` if there is none. */
  readonly ask: (method: 'resources/subscribe' | 'resources/unsubscribe', uri: string) => Promise<Verdict>
}

interface Subscribed {
  /** Listeners that want it. */
  count: number
  verdict: Promise<Verdict>
}

/** Requests for one session at a time; a client may name hundreds of resources. */
const AT_ONCE = 8

/**
 * The resources that one authorization context is subscribed to upstream, each once however many listen
 * (X-SUB-01). What is asked of one resource is asked in order, so that a listener who comes while another goes
 * is not left unsubscribed.
 */
export function createSubscriptions({ ask }: SubscriptionsOptions) {
  const subscribed = new Map<string, Subscribed>()
  const turns = createTurns(AT_ONCE)

  function subscribe(uri: string, entry: Subscribed, wanted: () => boolean): Promise<Verdict> {
    return turns.take(uri, () =>
      entry.count > 0 && wanted() ? ask('resources/subscribe', uri) : Promise.resolve('no'),
    )
  }

  return {
    /**
     * Subscribes for one more listener; to be followed by `release`, whatever comes of it. Nothing is asked if
     * it is not `wanted` any more when its turn comes.
     *
     * @throws UpstreamRefusal (401, 403)
     */
    acquire(uri: string, wanted: () => boolean): Promise<Verdict> {
      let entry = subscribed.get(uri)
      if (entry === undefined) {
        const made: Subscribed = { count: 1, verdict: Promise.resolve('no') }
        made.verdict = subscribe(uri, made, wanted)
        subscribed.set(uri, made)
        entry = made
      } else entry.count += 1
      return entry.verdict
    },
    release(uri: string): void {
      const entry = subscribed.get(uri)
      if (entry === undefined) return
      entry.count -= 1
      if (entry.count > 0) return
      subscribed.delete(uri)
      void turns
        .take(uri, async () => {
          // What was refused needs no word; where nobody knows, one word too many does no harm.
          if ((await entry.verdict) !== 'no') await ask('resources/unsubscribe', uri)
        })
        .catch(() => undefined)
    },
    /** Subscribes to everything on a new session. */
    async again(): Promise<void> {
      const asked = [...subscribed].map(([uri, entry]) => {
        entry.verdict = subscribe(uri, entry, () => true)
        return entry.verdict
      })
      await Promise.allSettled(asked)
    },
    /** Resolves when nothing is being asked. */
    settled: turns.settled,
  }
}
