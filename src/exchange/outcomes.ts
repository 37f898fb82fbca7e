import { LRUCache } from 'lru-cache'
import { type Outcome, sizeOf } from './outcome.ts'
import type { State } from './state.ts'

/** A finished exchange, for those who ask for its last round again. */
export interface Remembered {
  readonly state: State<Outcome>
  /** The keys of its last round. */
  readonly keys: readonly string[]
  readonly principal: string
}

const TTL_MS = 60_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_ENTRY_BYTES = 1024 * 1024
const MAX_PRINCIPAL_BYTES = 8 * 1024 * 1024
const OVERHEAD_BYTES = 512

/**
 * Final outcomes, so that a retry whose response was lost gets it again (design §5.6): for a minute, at most
 * 1 MiB each, 8 MiB a principal and 64 MiB in all. Losing one is harmless: the retry gets `exchange_lost`.
 */
export function createOutcomes(now: () => number) {
  const bytes = new Map<string, number>()
  const kept = new LRUCache<string, Remembered>({
    ttl: TTL_MS,
    // The time is asked for each time: else the cache would keep it by a timer of its own.
    ttlResolution: 0,
    perf: { now },
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: cost,
    dispose(remembered) {
      const left = (bytes.get(remembered.principal) ?? 0) - cost(remembered)
      if (left > 0) bytes.set(remembered.principal, left)
      else bytes.delete(remembered.principal)
    },
  })

  return {
    keep(exchange: string, remembered: Remembered): void {
      const size = cost(remembered)
      // What has expired is only cleared away when its room is wanted.
      if ((bytes.get(remembered.principal) ?? 0) + size > MAX_PRINCIPAL_BYTES) kept.purgeStale()
      const used = bytes.get(remembered.principal) ?? 0
      if (size > MAX_ENTRY_BYTES || used + size > MAX_PRINCIPAL_BYTES) return
      bytes.set(remembered.principal, used + size)
      kept.set(exchange, remembered)
    },
    get: (exchange: string): Remembered | undefined => kept.get(exchange),
  }
}

export type Outcomes = ReturnType<typeof createOutcomes>

const cost = ({ state }: Remembered): number =>
  OVERHEAD_BYTES + (state.final === undefined ? 0 : sizeOf(state.final))
