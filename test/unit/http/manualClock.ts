import type { Clock } from '../../../src/clock.ts'

/** A clock that stands still until it is told to go on. */
export function createManualClock() {
  let now = 0
  const timers = new Set<{ readonly at: number; readonly act: () => void }>()

  const clock: Clock = {
    now: () => now,
    wall: () => now,
    after(ms, act) {
      const timer = { at: now + ms, act }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    pending: () => timers.size,
  }

  /** Lets `ms` pass; what becomes due runs in its order, at its time. */
  function advance(ms: number): void {
    const until = now + ms
    for (;;) {
      const [next] = [...timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      timers.delete(next)
      now = next.at
      next.act()
    }
    now = until
  }

  return { ...clock, advance }
}
