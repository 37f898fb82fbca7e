import { GatewayError } from '../errors.ts'

/** Requests of one principal at a time, so that nobody takes the whole house (M-TOOL-06). */
export function createConcurrency(max: number) {
  const running = new Map<string, number>()

  /**
   * Counts a request in; the returned function counts it out.
   *
   * @throws GatewayError `overloaded` (429)
   */
  return function enter(principal: string): () => void {
    const now = running.get(principal) ?? 0
    if (now >= max) {
      throw new GatewayError('overloaded', `${max} requests of this caller are already running`, {
        ownLimit: true,
      })
    }
    running.set(principal, now + 1)
    return () => {
      const left = (running.get(principal) ?? 1) - 1
      if (left > 0) running.set(principal, left)
      else running.delete(principal)
    }
  }
}
