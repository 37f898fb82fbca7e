import type { Clock } from '../clock.ts'

/** The upstream's own time for a call: it stands still for a person, and progress begins it anew up to a maximum. */
export interface Deadline {
  run(): void
  pause(): void
  /** The upstream showed that it works on the call. */
  touch(): void
  stop(): void
}

/** Calls `over` once after `timeoutMs` without progress or `maxTimeoutMs` in all, pauses not counted (L-LIF-04). */
export function createDeadline(
  clock: Clock,
  timeoutMs: number,
  maxTimeoutMs: number,
  over: () => void,
): Deadline {
  let total = maxTimeoutMs
  let left = timeoutMs
  let sinceMs: number | undefined
  let stop = (): void => undefined

  function count(): void {
    if (sinceMs === undefined) return
    const ran = clock.now() - sinceMs
    total -= ran
    left -= ran
    sinceMs = undefined
  }

  function arm(): void {
    sinceMs = clock.now()
    stop = clock.after(Math.max(0, Math.ceil(Math.min(left, total))), () => {
      count()
      // Touches only move the mark; the timer finds out when it fires.
      if (left > 0 && total > 0) arm()
      else over()
    })
  }

  return {
    run() {
      if (sinceMs === undefined) arm()
    },
    pause() {
      stop()
      count()
      left = timeoutMs
    },
    touch() {
      if (sinceMs === undefined) return
      const ran = clock.now() - sinceMs
      total -= ran
      sinceMs += ran
      left = timeoutMs
    },
    stop() {
      stop()
      sinceMs = undefined
    },
  }
}
