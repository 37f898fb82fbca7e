import type { Clock } from '../clock.ts'
import type { Entry } from './pool.ts'

/** Closes sessions that were idle for `ttlMs`, with one timer for all of them. */
export function createReaper(
  clock: Clock,
  ttlMs: number,
  entries: ReadonlySet<Entry>,
  close: (entry: Entry) => void,
) {
  let stop: (() => void) | undefined

  function arm(): void {
    if (stop !== undefined) return
    stop = clock.after(ttlMs, () => {
      stop = undefined
      reap()
    })
  }

  function reap(): void {
    const now = clock.now()
    let left = false
    for (const entry of [...entries]) {
      if (entry.leases.size > 0 || entry.guests > 0) continue
      if (now - entry.idleSinceMs >= ttlMs) close(entry)
      else left = true
    }
    if (left) arm()
  }

  return {
    arm,
    stop() {
      stop?.()
      stop = undefined
    },
  }
}
