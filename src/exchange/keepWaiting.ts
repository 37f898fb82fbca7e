import type { Clock } from '../clock.ts'

const EVERY_MS = 15_000

/**
 * Tells patient upstreams that a person is still thinking: rising progress under the question's own token,
 * where it has one (L-PRG-02, design §5.7).
 */
export function createKeepWaiting(clock: Clock, notify: (message: Buffer) => void) {
  let tokens: Buffer[] = []
  let stop = (): void => undefined
  let progress = 0

  function arm(): void {
    stop = clock.after(EVERY_MS, () => {
      progress += 1
      for (const token of tokens) {
        notify(
          Buffer.from(
            `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${progress}}}`,
          ),
        )
      }
      arm()
    })
  }

  return {
    watch(token: Buffer | undefined): void {
      if (token === undefined) return
      if (tokens.length === 0) arm()
      tokens.push(token)
    },
    stop(): void {
      stop()
      tokens = []
    },
  }
}
