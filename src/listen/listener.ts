import type { Change } from '../mcp/change.ts'
import type { Answer } from '../mcp/request.ts'
import { acknowledgement, subscriptionDown, subscriptionResult } from '../mcp/subscriptionDown.ts'
import type { Handshake } from '../upstream/session.ts'
import { admits, type Filter, membersOf } from './filter.ts'
import { keyOf } from './fold.ts'

/** One `subscriptions/listen` and its stream. */
export interface Listener {
  /** Begins the stream: first what of the filter is honoured, then what came before it was known. */
  acknowledge(honoured: Filter): void
  changed(change: Change): void
  /** Ends it by our own will: the complete result, or `error` if it was not acknowledged yet (M-SUB-06). */
  end(handshake: Handshake | undefined, error: Error): void
}

/** What may come between the upstream's word on a resource and the acknowledgement. */
const MAX_EARLY = 256

/** Makes of changes the messages of the subscription `id` (M-SUB-01, M-SUB-02). */
export function createListener(id: Buffer, answer: Answer): Listener {
  let early: Map<string, Change> | undefined = new Map()

  function changed(change: Change): void {
    if (early === undefined) {
      answer.notify(subscriptionDown(change.notification, id))
      return
    }
    early.set(keyOf(change), change)
    const [oldest] = early.keys()
    if (early.size > MAX_EARLY && oldest !== undefined) early.delete(oldest)
  }

  return {
    changed,
    acknowledge(honoured) {
      const kept = early?.values() ?? []
      early = undefined
      answer.notify(acknowledgement(id, membersOf(honoured)))
      for (const change of kept) if (admits(honoured, change)) changed(change)
    },
    end(handshake, error) {
      if (early !== undefined) answer.fail(error)
      else answer.end([subscriptionResult(id, handshake?.serverInfo)])
    },
  }
}
