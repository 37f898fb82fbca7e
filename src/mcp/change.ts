import type { IncomingNotification } from './message.ts'
import { upstreamShape } from './message.ts'
import { at, scan, stringOf } from './scan.ts'

/** The lists whose changes an upstream announces. */
export const listNames = ['tools', 'prompts', 'resources'] as const
export type ListName = (typeof listNames)[number]

/** What an upstream announces outside of calls: a list is another one now, or a resource is. */
export type Change =
  | { readonly of: 'list'; readonly list: ListName; readonly notification: IncomingNotification }
  | { readonly of: 'resource'; readonly uri: string; readonly notification: IncomingNotification }

const listMethods: ReadonlyMap<string, ListName> = new Map(
  listNames.map((list) => [`notifications/${list}/list_changed`, list]),
)

/**
 * The change that a notification announces (X-SUB-02, X-SUB-03); undefined for every other notification, and
 * for an update that names no resource.
 */
export function changeOf(notification: IncomingNotification): Change | undefined {
  const { method, text, root } = notification
  const list = listMethods.get(method)
  if (list !== undefined) return { of: 'list', list, notification }
  if (method !== 'notifications/resources/updated') return undefined
  const uri = stringOf(text, at(root, 'params', 'uri'))
  return uri === undefined ? undefined : { of: 'resource', uri, notification }
}

/** It announces a change, if perhaps none that can be read: nothing for the stream of a call (M-HTTP-08). */
export function announces({ method }: IncomingNotification): boolean {
  return listMethods.has(method) || method === 'notifications/resources/updated'
}

/** A change of a list that no upstream announced, since nobody could hear it. */
export function missedList(list: ListName): Change {
  return { of: 'list', list, notification: notice(`notifications/${list}/list_changed`, '') }
}

/** The same for a resource. */
export function missedUpdate(uri: string): Change {
  const params = `,"params":{"uri":${JSON.stringify(uri)}}`
  return { of: 'resource', uri, notification: notice('notifications/resources/updated', params) }
}

function notice(method: string, params: string): IncomingNotification {
  const text = Buffer.from(`{"jsonrpc":"2.0","method":"${method}"${params}}`)
  return { kind: 'notification', method, text, root: scan(text, upstreamShape) }
}
