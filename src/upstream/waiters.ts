import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Lease, Want } from './lease.ts'

/** Somebody who waits for a session of this room. */
export interface Waiter<R> {
  readonly want: Want
  readonly room: R
  /** Calls that cannot be asked share one. */
  readonly shares: boolean
  /** Both leave the queue. */
  serve(lease: Lease): void
  fail(error: unknown): void
}

export interface WaitersOptions<R> {
  readonly clock: Clock
  readonly waitMs: number
  /** Whether one may wait longer when its time is over, given those before it. */
  readonly patient: (waiter: Waiter<R>, before: readonly Waiter<R>[]) => boolean
  readonly left: (waiter: Waiter<R>) => void
}

/** Those who wait for a session, in order. */
export function createWaiters<R>({ clock, waitMs, patient, left }: WaitersOptions<R>) {
  const queue = new Set<Waiter<R>>()

  /** Queues at the end, and leaves after `waitMs` or when the signal says so. */
  function join(
    want: Want,
    room: R,
    shares: boolean,
    resolve: (lease: Lease) => void,
    reject: (error: unknown) => void,
    signal: AbortSignal | undefined,
  ): void {
    const late = (): void => {
      const all = [...queue]
      if (patient(waiter, all.slice(0, all.indexOf(waiter)))) stop = clock.after(waitMs, late)
      else waiter.fail(new GatewayError('overloaded', 'no session became free in time'))
    }
    let stop = clock.after(waitMs, late)
    const gone = (): void => waiter.fail(new Error('the client left'))
    const leave = (): boolean => {
      if (!queue.delete(waiter)) return false
      stop()
      signal?.removeEventListener('abort', gone)
      left(waiter)
      return true
    }
    const waiter: Waiter<R> = {
      want,
      room,
      shares,
      serve: (lease) => void (leave() && resolve(lease)),
      fail: (error) => void (leave() && reject(error)),
    }
    queue.add(waiter)
    if (signal?.aborted) gone()
    else signal?.addEventListener('abort', gone)
  }

  return {
    join,
    queue: queue as ReadonlySet<Waiter<R>>,
  }
}
