import type { Clock } from '../clock.ts'

/** The time that all of a probe may take. */
export interface Deadline {
  /** The same promise, which fails when the time is over. */
  within<T>(step: Promise<T>): Promise<T>
  leftMs(): number
  /** Waits `ms`, or until the time is over. */
  pause(ms: number): Promise<void>
  stop(): void
}

/** The time is over, or somebody does not want to wait for its end. */
export class Expired extends Error {}

/** A deadline in `ms`, or when `signal` says so. */
export function createDeadline(clock: Clock, ms: number, signal: AbortSignal): Deadline {
  const endMs = clock.now() + ms
  const over = new AbortController()
  const expire = (): void => over.abort(new Expired(`no answer within ${ms} ms`))
  const stopTimer = clock.after(ms, expire)
  signal.addEventListener('abort', expire, { once: true })
  const expired = new Promise<never>((_, reject) => {
    over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true })
  })
  expired.catch(() => undefined)

  return {
    within(step) {
      step.catch(() => undefined)
      return over.signal.aborted ? Promise.reject(over.signal.reason) : Promise.race([step, expired])
    },
    leftMs: () => Math.max(1, endMs - clock.now()),
    pause: (wantedMs) =>
      new Promise((resolve) => {
        if (over.signal.aborted) resolve()
        const stop = clock.after(wantedMs, resolve)
        over.signal.addEventListener('abort', () => {
          stop()
          resolve()
        })
      }),
    stop() {
      stopTimer()
      signal.removeEventListener('abort', expire)
    },
  }
}
