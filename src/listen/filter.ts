import { ProtocolError } from '../errors.ts'
import { type Change, type ListName, listNames } from '../mcp/change.ts'
import type { ModernRequest } from '../mcp/request.ts'
import { at, parsed } from '../mcp/scan.ts'
import type { FilterMembers } from '../mcp/subscriptionDown.ts'

/** What a subscription is told of. */
export interface Filter {
  readonly lists: ReadonlySet<ListName>
  /** Resources whose updates it wants. */
  readonly uris: ReadonlySet<string>
}

const MAX_URIS = 256
const MAX_URI_BYTES = 8 * 1024

/**
 * Reads `params.notifications`: unknown members are ignored, `false` is the same as absent (M-SUB-03, M-SUB-09).
 *
 * @throws ProtocolError -32602 for a missing filter, a member of a wrong kind, or more than 256 URIs of 8 KiB
 */
export function readFilter({ text, root }: ModernRequest): Filter {
  const given = at(root, 'params', 'notifications')
  if (given?.kind !== 'object') throw invalid('params.notifications must be an object')
  const members: Readonly<Record<string, unknown>> = { ...Object(parsed(text, given)) }
  const lists = new Set<ListName>()
  for (const list of listNames) {
    const name = memberOf(list)
    const wanted = members[name] ?? false
    if (typeof wanted !== 'boolean') throw invalid(`params.notifications.${name} must be a boolean`)
    if (wanted) lists.add(list)
  }
  return { lists, uris: new Set(urisOf(members.resourceSubscriptions ?? [])) }
}

function urisOf(given: unknown): string[] {
  const name = 'params.notifications.resourceSubscriptions'
  if (!Array.isArray(given)) throw invalid(`${name} must be an array of strings`)
  if (given.length > MAX_URIS) throw invalid(`${name} must not name more than ${MAX_URIS} resources`)
  return given.map((uri: unknown) => {
    if (typeof uri !== 'string') throw invalid(`${name} must be an array of strings`)
    if (Buffer.byteLength(uri) > MAX_URI_BYTES)
      throw invalid(`a URI of ${name} must not be longer than ${MAX_URI_BYTES} bytes`)
    return uri
  })
}

/** The filter as its client writes it; what it does not want is not there. */
export function membersOf({ lists, uris }: Filter): FilterMembers {
  return {
    ...Object.fromEntries(listNames.filter((list) => lists.has(list)).map((list) => [memberOf(list), true])),
    ...(uris.size > 0 && { resourceSubscriptions: [...uris] }),
  }
}

/** The filter asks for this change; for an update, also where it names what lies above the resource. */
export function admits({ lists, uris }: Filter, change: Change): boolean {
  if (change.of === 'list') return lists.has(change.list)
  if (uris.has(change.uri)) return true
  for (const uri of uris) if (isWithin(change.uri, uri)) return true
  return false
}

/** `uri` is `parent`'s own part: it goes on from it at a boundary (M-SUB-08). */
function isWithin(uri: string, parent: string): boolean {
  if (parent === '' || !uri.startsWith(parent)) return false
  return BOUNDARIES.includes(parent.at(-1) ?? '') || BOUNDARIES.includes(uri.charAt(parent.length))
}

const BOUNDARIES = ['/', '?', '#']

const memberOf = (list: ListName) => `${list}ListChanged` as const

const invalid = (message: string): ProtocolError => new ProtocolError(-32602, message)
