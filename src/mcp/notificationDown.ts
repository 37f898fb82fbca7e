import { type Incoming, isWritten } from './message.ts'
import { meta } from './meta.ts'
import { at, textOf } from './scan.ts'
import { createSplice } from './splice.ts'

/**
 * What never passes on the stream of a call, from wherever it came (M-HTTP-08); unknown ones do (X-SUB-07).
 */
const elsewhere: ReadonlySet<string> = new Set([
  'notifications/initialized', // ours to send
  'notifications/cancelled', // X-CAN-02: withdraws a question
  'notifications/roots/list_changed', // X-SUB-06: a client's
  'notifications/tools/list_changed', // X-SUB-02: listen only
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated', // X-SUB-03: listen only
  'notifications/elicitation/complete', // X-SUB-04: stays here
  'notifications/tasks/status', // X-SUB-05: another message for modern clients
  'notifications/tasks', // T-20: listen only
  'notifications/subscriptions/acknowledged', // M-SUB-01: ours alone, a forged one would be believed
])

export interface NotificationDownOptions {
  /** The progress token of the client's request, as it wrote it; without one there is no progress. */
  readonly progressToken?: Buffer | undefined
}

/**
 * Turns a notification that belongs to a call into one for its client, or undefined if it must not pass. Log
 * messages are for the caller to weigh, with `logLevelOf` and `atLeast`.
 */
export function notificationDown(
  incoming: Incoming,
  { progressToken }: NotificationDownOptions,
): Buffer | undefined {
  if (incoming.kind !== 'notification' || elsewhere.has(incoming.method)) return undefined
  const { text, root, method } = incoming
  const splice = createSplice(text)
  if (method === 'notifications/progress') {
    const token = at(root, 'params', 'progressToken')
    if (token === undefined || progressToken === undefined || progressOf(incoming) === undefined)
      return undefined
    splice.replace(token, progressToken) // X-PRG-01
  }
  if (!isWritten(text, at(root, 'jsonrpc'), '"2.0"')) splice.set(root, 'jsonrpc', '"2.0"')
  if (at(root, 'id') !== undefined) splice.remove(root, 'id')
  const own = at(root, 'params', '_meta')
  if (own?.kind === 'object') {
    splice.remove(own, meta.relatedTask) // X-ENV-09
    splice.remove(own, meta.subscriptionId)
  }
  return splice.bytes()
}

/** The token of a progress notification, or of none of ours: the caller compares it with what it sent. */
export function progressTokenOf({ text, root }: Incoming): Buffer | undefined {
  const token = at(root, 'params', 'progressToken')
  return token === undefined ? undefined : textOf(text, token)
}

/** How far a progress notification says the call is; it must rise for each request of a client (M-PRG-02). */
export function progressOf({ text, root }: Incoming): number | undefined {
  const progress = at(root, 'params', 'progress')
  return progress?.kind === 'number' ? Number(textOf(text, progress).toString('latin1')) : undefined
}
