import type { Clock } from '../clock.ts'
import type { Change } from '../mcp/change.ts'

const FOLD_MS = 25
/** More kinds of change than this at once are told before their time. */
const MAX_WAITING = 1_024

interface Waiting {
  change: Change
  readonly stop: () => void
}

/**
 * Folds what several sessions say of one change, or one session says twice, into one: a change is told 25 ms
 * after it was first heard, so that none that comes meanwhile is lost. The latest words are told.
 */
export function createFold(clock: Clock, tell: (change: Change) => void) {
  const waiting = new Map<string, Waiting>()

  function add(change: Change): void {
    const key = keyOf(change)
    const same = waiting.get(key)
    if (same !== undefined) {
      same.change = change
      return
    }
    const [oldest] = waiting.keys()
    if (waiting.size >= MAX_WAITING && oldest !== undefined) flush(oldest)
    waiting.set(key, { change, stop: clock.after(FOLD_MS, () => flush(key)) })
  }

  function flush(key: string): void {
    const due = waiting.get(key)
    if (due === undefined) return
    waiting.delete(key)
    due.stop()
    tell(due.change)
  }

  return {
    add,
    /** Forgets what was not told yet. */
    stop(): void {
      for (const { stop } of waiting.values()) stop()
      waiting.clear()
    },
  }
}

/** Equal for changes of the same thing. */
export function keyOf(change: Change): string {
  return change.of === 'list' ? change.list : `resource ${change.uri}`
}
