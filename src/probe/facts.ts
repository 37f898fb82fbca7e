import type { Said } from '../upstream/askEra.ts'
import type { Transport } from '../upstream/opening.ts'

/** One HTTP request of ours and what it drew; null is what did not come, or had no such thing. */
export interface Tried {
  readonly verb: string
  /** Without its query, which may hold a key. */
  readonly url: string
  /** The JSON-RPC method. */
  readonly method: string | null
  status: number | null
  type: string | null
  location: string | null
  failure: string | null
}

/** A request of the server's that was seen, and the kind of stream it came on. */
export interface Asked {
  readonly method: string
  readonly stream: 'GET' | 'POST'
}

/** One of the server's lists, as far as it was read. */
export interface Listed {
  readonly count: number
  readonly names: readonly string[]
  /** It goes on, or has more names than are kept here. */
  readonly more: boolean
  readonly failure: string | null
}

export const LISTS = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const
export type ListName = (typeof LISTS)[number]

/** What was seen of a server; null wherever it could not be told. It is what `--json` prints. */
export interface Facts {
  /** Without its query. */
  readonly url: string
  usable: boolean
  transport: Transport | null
  era: 'legacy' | 'modern' | null
  /** What `server/discover` drew. */
  discover: Said | null
  /** The one negotiated; of a modern server, the one that is used. */
  revision: string | null
  server: { readonly name: string; readonly version: string } | null
  /** As the server declares them, and as clients of 2026-07-28 see them through the proxy. */
  capabilities: { readonly declared: unknown; readonly seen: unknown } | null
  /** A list that is not declared is null: it was not asked for. */
  lists: Record<ListName, Listed | null>
  /** It tells sessions apart. */
  sessions: boolean | null
  /** Messages can come outside of responses. */
  stream: boolean | null
  /** How requests are answered, as the lists showed. */
  answers: 'json' | 'event-stream' | null
  asked: readonly Asked[]
  /** One question was seen on two sessions; that it was not seen proves nothing. */
  broadcasts: true | null
  secondSessionFailure: string | null
  /** Of a 401 or 403: its status and its `WWW-Authenticate`. */
  refused: { readonly status: number; readonly challenge: string | null } | null
  /** Why it cannot be used. */
  problems: string[]
  /** What will not work, and why. */
  remarks: string[]
  tried: readonly Tried[]
}

/** Nothing seen yet. */
export function noFacts(url: string, tried: readonly Tried[], asked: readonly Asked[]): Facts {
  return {
    url,
    usable: false,
    transport: null,
    era: null,
    discover: null,
    revision: null,
    server: null,
    capabilities: null,
    lists: { tools: null, prompts: null, resources: null, resourceTemplates: null },
    sessions: null,
    stream: null,
    answers: null,
    asked,
    broadcasts: null,
    secondSessionFailure: null,
    refused: null,
    problems: [],
    remarks: [],
    tried,
  }
}
