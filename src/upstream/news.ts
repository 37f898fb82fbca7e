import type { IncomingNotification } from '../mcp/message.ts'
import type { Session } from './session.ts'

/** Who wants to know what the sessions of one authorization context say outside of calls. */
export interface Watcher {
  /** A list or a resource changed, on whatever stream of whatever session that was said (M-SUB-07). */
  notification(notification: IncomingNotification): void
  /** The session is lost, or serves nobody any more. */
  gone(session: Session): void
}

/** Carries what sessions say to those who watch their authorization context, and to nobody else (M-CACHE-06). */
export function createNews() {
  const watchers = new Map<string, Set<Watcher>>()

  return {
    /** From now on `watcher` is told; the returned function ends that. */
    watch(context: string, watcher: Watcher): () => void {
      const all = watchers.get(context) ?? new Set()
      watchers.set(context, all.add(watcher))
      return () => {
        if (all.delete(watcher) && all.size === 0) watchers.delete(context)
      }
    },
    tell(context: string, notification: IncomingNotification): void {
      for (const each of watchers.get(context) ?? []) each.notification(notification)
    },
    gone(context: string, session: Session): void {
      for (const each of [...(watchers.get(context) ?? [])]) each.gone(session)
    },
  }
}

export type News = ReturnType<typeof createNews>
