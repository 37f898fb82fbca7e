import type { Clock } from '../clock.ts'

const MAX_REMEMBERED = 256

/** URL elicitations whose completion the upstream has told (2025-11-25 elicitation §Completion; L-ELI-02). */
export function createCompletions(clock: Clock) {
  const told = new Set<string>()
  const waiting = new Set<() => void>()
  let closed = false

  return {
    heard(id: string): void {
      told.add(id)
      const [oldest] = told
      if (told.size > MAX_REMEMBERED && oldest !== undefined) told.delete(oldest)
      for (const check of waiting) check()
    },
    /** Resolves when all are complete, or after `ms`. */
    wait(ids: readonly string[], ms: number): Promise<void> {
      return new Promise((resolve) => {
        const done = (): void => {
          stop()
          waiting.delete(check)
          resolve()
        }
        const stop = clock.after(ms, done)
        const check = (): void => {
          if (closed || ids.every((id) => told.has(id))) done()
        }
        waiting.add(check)
        check()
      })
    },
    /** Nothing more will be told. */
    close(): void {
      closed = true
      for (const check of waiting) check()
    },
  }
}

export type Completions = ReturnType<typeof createCompletions>
