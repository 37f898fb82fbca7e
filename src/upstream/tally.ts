import type { Tally } from './acquire.ts'

/** Sums of what all principals, and each of them, have in the pool. */
export interface Tallies {
  readonly all: Readonly<Tally>
  of(principal: string): Readonly<Tally>
  add(principal: string, what: keyof Tally, by: 1 | -1): void
}

/** Starts at nothing; a principal with nothing is forgotten. */
export function createTallies(): Tallies {
  const all = nothing()
  const each = new Map<string, Tally>()

  return {
    all,
    of: (principal) => each.get(principal) ?? NOTHING,
    add(principal, what, by) {
      const own = each.get(principal) ?? nothing()
      own[what] += by
      all[what] += by
      if (own.sessions + own.opening > 0) each.set(principal, own)
      else each.delete(principal)
    },
  }
}

const nothing = (): Tally => ({ sessions: 0, opening: 0, leases: 0, suspended: 0, guests: 0, listeners: 0 })
const NOTHING: Readonly<Tally> = nothing()
