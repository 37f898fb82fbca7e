import { type ListName, listNames } from '../mcp/change.ts'
import type { Session } from '../upstream/session.ts'

export interface Deliverable {
  readonly lists: ReadonlySet<ListName>
  /** Updates of single resources. */
  readonly resources: boolean
}

/** What can come of a session: what its upstream declared, and only if it has a stream for it (X-CAP-05). */
export function deliverable(session: Session): Deliverable {
  const { capabilities } = session.handshake
  const promises = (feature: ListName, member: string): boolean => {
    const declared: Readonly<Record<string, unknown>> = { ...Object(capabilities[feature]) }
    return session.listening() && declared[member] === true
  }
  return {
    lists: new Set(listNames.filter((list) => promises(list, 'listChanged'))),
    resources: promises('resources', 'subscribe'),
  }
}
