import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { IncomingRequest } from '../mcp/message.ts'
import type { Holder } from './call.ts'

/** Server requests that reach a session outside of any lease, seen over all sessions of one upstream. */
export interface Outside {
  /**
   * A request came to this leased session, to be asked there; false if it came to another one too, so that
   * nobody can tell whose it is.
   */
  seen(request: IncomingRequest, holder: Holder): boolean
  /** Those who hold a session that the upstream does not tell apart from others. */
  readonly unsessioned: Set<Holder>
  /** A request came where nobody can be asked: refused after 100 ms, unless it was asked elsewhere meanwhile. */
  ask(request: IncomingRequest, reply: (id: Buffer, payload: Buffer) => void): void
  /** The upstream sends every request to all sessions, so that only one call at a time can be asked. */
  broadcasting(): boolean
  close(): void
}

const REFUSE_AFTER_MS = 100
const REMEMBER_MS = 1_000
/** An id this long is no counter: two of them are one request. */
const UNGUESSABLE = 16

/**
 * Some bridges send each request to all sessions (design §4.8). An idle session must not refuse what a leased
 * one can ask; and a twin, once found, is the proof that such an upstream cannot tell its callers apart.
 * Equal small ids on two leased sessions prove nothing: servers of their own count from zero.
 */
export function createOutside(clock: Clock, onBroadcast: () => void): Outside {
  const asked = new Map<string, { readonly holder: Holder; readonly forget: () => void }>()
  const waiting = new Map<string, number>()
  const timers = new Set<() => void>()
  let broadcasting = false

  function found(): void {
    if (broadcasting) return
    broadcasting = true
    onBroadcast()
  }

  function after(ms: number, act: () => void): () => void {
    const stop = clock.after(ms, () => {
      timers.delete(stop)
      act()
    })
    timers.add(stop)
    return () => {
      timers.delete(stop)
      stop()
    }
  }

  return {
    unsessioned: new Set(),
    seen(request, holder) {
      const key = fingerprint(request)
      const before = asked.get(key)
      const twin = before !== undefined && before.holder !== holder && request.id.length > UNGUESSABLE
      if (twin || waiting.has(key)) found()
      before?.forget()
      // Whoever was given the first copy may be the wrong one.
      if (twin) before.holder.withdrawn(request.id.toString('latin1'))
      asked.set(key, { holder, forget: after(REMEMBER_MS, () => void asked.delete(key)) })
      return !twin
    },
    ask(request, reply) {
      const key = fingerprint(request)
      if (asked.has(key)) {
        found()
        return
      }
      waiting.set(key, (waiting.get(key) ?? 0) + 1)
      after(REFUSE_AFTER_MS, () => {
        const left = (waiting.get(key) ?? 1) - 1
        if (left === 0) waiting.delete(key)
        else waiting.set(key, left)
        if (asked.has(key)) found()
        else reply(request.id, NOBODY)
      })
    },
    broadcasting: () => broadcasting,
    close() {
      for (const stop of timers) stop()
      timers.clear()
      asked.clear()
    },
  }
}

const NOBODY = Buffer.from('"error":{"code":-32601,"message":"no call is in progress that could ask this"}')

const fingerprint = (request: IncomingRequest): string =>
  createHash('sha1').update(request.text).digest('base64')
