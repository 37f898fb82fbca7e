import type { IncomingNotification } from '../mcp/message.ts'

const MAX_KEPT = 64
const MAX_KEPT_BYTES = 256 * 1024

/** Notifications that came while no client was connected; bounded, the newest kept (design §5.8). */
export function createKept() {
  let kept: IncomingNotification[] = []
  let bytes = 0

  return {
    add(notification: IncomingNotification): void {
      kept.push(notification)
      bytes += notification.text.length
      while (kept.length > MAX_KEPT || bytes > MAX_KEPT_BYTES) bytes -= kept.shift()?.text.length ?? 0
    },
    take(): IncomingNotification[] {
      const taken = kept
      kept = []
      bytes = 0
      return taken
    },
  }
}
