/** Time as the gateway sees it, so that tests own it. */
export interface Clock {
  /** Milliseconds that never go back, whatever the wall clock does. */
  now(): number
  /** Wall-clock milliseconds since 1970, for what leaves the process (deadlines in tokens). */
  wall(): number
  /** Runs `act` once after `ms`; the returned function stops it and may be called at any time. */
  after(ms: number, act: () => void): () => void
  /** Timers that have neither run nor been stopped. */
  pending(): number
}

/** The process's own clock. */
export function createClock(): Clock {
  const timers = new Set<NodeJS.Timeout>()
  return {
    now: () => performance.now(),
    wall: () => Date.now(),
    after(ms, act) {
      const timer = setTimeout(() => {
        timers.delete(timer)
        act()
      }, ms)
      timers.add(timer)
      return () => {
        if (timers.delete(timer)) clearTimeout(timer)
      }
    },
    pending: () => timers.size,
  }
}
