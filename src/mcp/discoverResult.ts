import { readAs } from './message.ts'
import { extensions, meta } from './meta.ts'
import { spliceMeta } from './resultMeta.ts'
import { at, type Shape, textOf, type Value } from './scan.ts'
import { createSplice, type Splice } from './splice.ts'

export interface DiscoverOptions {
  /** The upstream can send notifications outside of calls, on a GET or SSE stream. */
  readonly streams: boolean
  /** Whether an upstream of 2024-11-05 completes; undefined: it says so itself (X-CAP-04). */
  readonly completions?: boolean | undefined
  /** Every tool of the route can be served by the tasks extension (X-CAP-03). */
  readonly tasks?: boolean | undefined
  /** The modern revisions that we serve. */
  readonly supportedVersions: readonly string[]
  readonly hints: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }
}

const initializeShape = {
  protocolVersion: true,
  serverInfo: { name: true, version: true },
  capabilities: {
    tasks: true,
    completions: true,
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    extensions: { [extensions.ui]: true },
  },
  _meta: { [meta.serverInfo]: true, [meta.relatedTask]: true, [meta.subscriptionId]: true },
  supportedVersions: true,
  ttlMs: true,
  cacheScope: true,
  resultType: true,
  inputRequests: true,
  requestState: true,
} as const satisfies Shape

/** What can only be promised where a notification can arrive (X-CAP-05). */
const needsStream = [
  ['tools', 'listChanged'],
  ['prompts', 'listChanged'],
  ['resources', 'listChanged'],
  ['resources', 'subscribe'],
] as const

/**
 * Turns the `result` of `initialize` into that of `server/discover`, members it does not know included
 * (X-CAP-01 … 07).
 * @throws GatewayError 'upstream_protocol' for bytes that are no JSON, or a member that occurs twice
 */
export function discoverResult(initializeResult: Buffer, options: DiscoverOptions): Buffer {
  const root = readAs(initializeResult, initializeShape)
  const splice = createSplice(initializeResult)
  const serverInfo = identity(initializeResult, at(root, 'serverInfo'))
  for (const name of ['protocolVersion', 'serverInfo', 'inputRequests', 'requestState'])
    splice.remove(root, name)
  splice.set(root, 'supportedVersions', JSON.stringify(options.supportedVersions))
  spliceCapabilities(splice, initializeResult, root, options)
  splice.set(root, 'resultType', '"complete"')
  splice.set(root, 'ttlMs', String(options.hints.ttlMs))
  splice.set(root, 'cacheScope', JSON.stringify(options.hints.cacheScope))
  spliceMeta(splice, root, serverInfo)
  return splice.bytes()
}

/** The `serverInfo` of an `initialize` result, if it has what clients insist on: name and version (X-CAP-02). */
export function serverInfoOf(initializeResult: Buffer): Buffer | undefined {
  return identity(initializeResult, at(readAs(initializeResult, initializeShape), 'serverInfo'))
}

function identity(text: Buffer, serverInfo: Value | undefined): Buffer | undefined {
  if (serverInfo === undefined) return undefined
  if (at(serverInfo, 'name')?.kind !== 'string' || at(serverInfo, 'version')?.kind !== 'string')
    return undefined
  return Buffer.from(textOf(text, serverInfo))
}

function spliceCapabilities(splice: Splice, text: Buffer, root: Value, options: DiscoverOptions): void {
  const { streams, completions, tasks } = options
  const ui = at(root, 'capabilities', 'extensions', extensions.ui)
  const kept: string[] = []
  if (ui?.kind === 'object') kept.push(`"${extensions.ui}":${textOf(text, ui).toString('latin1')}`)
  if (tasks) kept.push(`"${extensions.tasks}":{}`)
  const capabilities = at(root, 'capabilities')
  if (capabilities?.kind !== 'object') {
    const members: Record<string, object> = {}
    if (completions) members.completions = {}
    if (tasks) members.extensions = { [extensions.tasks]: {} }
    splice.set(root, 'capabilities', JSON.stringify(members))
    return
  }
  splice.remove(capabilities, 'tasks')
  if (completions === false) splice.remove(capabilities, 'completions')
  if (completions && at(capabilities, 'completions') === undefined)
    splice.set(capabilities, 'completions', '{}')
  for (const [feature, promise] of needsStream) {
    const declared = at(capabilities, feature)
    if (!streams && declared?.kind === 'object') splice.remove(declared, promise)
  }
  if (kept.length === 0) splice.remove(capabilities, 'extensions')
  else splice.set(capabilities, 'extensions', Buffer.from(`{${kept.join()}}`, 'latin1'))
}
