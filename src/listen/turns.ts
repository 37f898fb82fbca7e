/** Lets things happen in order for each name, and at most `atOnce` of them at a time. */
export function createTurns(atOnce: number) {
  const last = new Map<string, Promise<unknown>>()
  const waiting: (() => void)[] = []
  let free = atOnce

  async function place(): Promise<void> {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => void waiting.push(resolve))
  }

  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }

  async function after<T>(before: Promise<unknown> | undefined, act: () => Promise<T>): Promise<T> {
    await before?.catch(() => undefined)
    await place()
    try {
      return await act()
    } finally {
      leave()
    }
  }

  return {
    /** Runs `act` when everything before it under this name is over. */
    take<T>(name: string, act: () => Promise<T>): Promise<T> {
      const mine = after(last.get(name), act)
      last.set(name, mine)
      const forget = (): void => {
        if (last.get(name) === mine) last.delete(name)
      }
      mine.then(forget, forget)
      return mine
    },
    /** Resolves when nothing runs or waits. */
    async settled(): Promise<void> {
      while (last.size > 0) await Promise.allSettled(last.values())
    },
  }
}
