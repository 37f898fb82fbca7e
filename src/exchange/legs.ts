import { type Capabilities, reduce } from '../mcp/capabilities.ts'
import { atLeast, logLevelOf } from '../mcp/logLevel.ts'
import type { IncomingNotification } from '../mcp/message.ts'
import { notificationDown, progressOf } from '../mcp/notificationDown.ts'
import type { Answer, ModernRequest } from '../mcp/request.ts'
import { createKept } from './kept.ts'

/** One HTTP request of an exchange. */
export interface Leg {
  readonly number: number
  readonly request: ModernRequest
  readonly answer: Answer
  readonly capabilities: Capabilities
  /** The last progress sent to it, since progress rises within a request (M-PRG-02). */
  progress: number
}

/**
 * The legs of one exchange. Notifications go to the newest connected one, under its own progress token and log
 * level; what comes while none is connected waits for the next (design §5.8).
 */
export function createLegs() {
  const connected = new Map<number, Leg>()
  const kept = createKept()
  let last = 0
  let newest: Leg | undefined

  function tell(leg: Leg, notification: IncomingNotification): void {
    const { envelope } = leg.request
    if (notification.method === 'notifications/progress') {
      if (envelope.progressToken === undefined || !rises(leg, notification)) return
    } else if (notification.method === 'notifications/message') {
      if (envelope.logLevel === undefined || !atLeast(logLevelOf(notification), envelope.logLevel)) return
    }
    const message = notificationDown(notification, { progressToken: envelope.progressToken })
    if (message !== undefined) leg.answer.notify(message)
  }

  return {
    /** The leg connects; it gets what was kept. */
    add(request: ModernRequest, answer: Answer): Leg {
      last += 1
      const leg: Leg = {
        number: last,
        request,
        answer,
        capabilities: reduce(request.envelope.capabilities),
        progress: -Infinity,
      }
      connected.set(last, leg)
      newest ??= leg
      return leg
    },
    /** From now on its capabilities and credentials hold; a leg that is refused changes nothing. */
    adopt(leg: Leg): void {
      newest = leg
    },
    remove(number: number): Leg | undefined {
      const leg = connected.get(number)
      connected.delete(number)
      return leg
    },
    /** What the last request that came declared; it holds until the next one comes (design §4.9). */
    newest: (): Leg | undefined => newest,
    connected: (): number => connected.size,
    notify(notification: IncomingNotification): void {
      const leg = [...connected.values()].at(-1)
      if (leg === undefined) kept.add(notification)
      else tell(leg, notification)
    },
    /** Delivers what came while nobody was connected. */
    catchUp(leg: Leg): void {
      for (const notification of kept.take()) tell(leg, notification)
    },
  }
}

function rises(leg: Leg, notification: IncomingNotification): boolean {
  const progress = progressOf(notification)
  if (progress === undefined || !(progress > leg.progress)) return false
  leg.progress = progress
  return true
}
