import type { Clock } from '../clock.ts'

/**
 * Closes sessions once they were idle for `ttlMs`, with one timer for all of them; `idle` has them in the order
 * in which they became idle.
 */
export function createReaper<E extends { readonly idleSinceMs: number }>(
  clock: Clock,
  ttlMs: number,
  idle: ReadonlySet<E>,
  close: (entry: E) => void,
) {
  let stop: (() => void) | undefined

  /** To be called when one became idle. */
  function arm(): void {
    const [first] = idle
    if (stop !== undefined || first === undefined) return
    stop = clock.after(first.idleSinceMs + ttlMs - clock.now(), () => {
      stop = undefined
      const now = clock.now()
      for (const entry of idle) {
        if (entry.idleSinceMs + ttlMs > now) break
        close(entry)
      }
      arm()
    })
  }

  return {
    arm,
    stop() {
      stop?.()
      stop = undefined
    },
  }
}
