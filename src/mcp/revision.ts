/** The revisions that upstreams behind the gateway speak, by their dates. */
export type LegacyRevision = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25'

/** The latest of them, which is offered first (L-LIF-02). */
export const LATEST_LEGACY: LegacyRevision = '2025-11-25'

export interface Knows {
  /** How `elicitation` is declared: not at all, as `{}`, or with its modes (X-CAP-10). */
  readonly elicitation: 'none' | 'plain' | 'modes'
  /** `sampling` is declared with `context` and `tools` (X-CAP-09). */
  readonly samplingMembers: boolean
  /** `context` of a completion and `title` of its reference (X-RES-06). */
  readonly completionContext: boolean
  /** Lists of strings among the fields of a form (X-ANS-03). */
  readonly formLists: boolean
  /** What a sampled message may hold; the last two only if the question came with tools (X-ANS-05). */
  readonly sampled: readonly string[]
  /** A sampled message may be a list of blocks, if the question came with tools (X-ANS-04). */
  readonly sampledLists: boolean
}

const v2024_11_05: Knows = {
  elicitation: 'none',
  samplingMembers: false,
  completionContext: false,
  formLists: false,
  sampled: ['text', 'image'],
  sampledLists: false,
}

const v2025_03_26: Knows = { ...v2024_11_05, sampled: ['text', 'image', 'audio'] }

const v2025_06_18: Knows = { ...v2025_03_26, elicitation: 'plain', completionContext: true }

const v2025_11_25: Knows = {
  ...v2025_06_18,
  elicitation: 'modes',
  samplingMembers: true,
  formLists: true,
  sampled: ['text', 'image', 'audio', 'tool_use', 'tool_result'],
  sampledLists: true,
}

const revisions: Readonly<Record<string, Knows>> = {
  '2024-11-05': v2024_11_05,
  '2025-03-26': v2025_03_26,
  '2025-06-18': v2025_06_18,
  '2025-11-25': v2025_11_25,
}

/** What `revision` knows of the things that the revisions disagree on; one we do not serve counts as the latest. */
export function knows(revision: string): Knows {
  return (Object.hasOwn(revisions, revision) ? revisions[revision] : undefined) ?? v2025_11_25
}
