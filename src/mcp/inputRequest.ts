import { meta } from './meta.ts'
import { removeExecution } from './removeExecution.ts'
import { at, each, type Shape, stringOf, type Value } from './scan.ts'
import { createSplice, type Splice } from './splice.ts'

/** What we read or own in the params of a question. */
export const questionShape = {
  _meta: { progressToken: true, [meta.relatedTask]: { taskId: true } },
  task: true,
  mode: true,
  message: true,
  requestedSchema: true,
  url: true,
  elicitationId: true,
  messages: true,
  maxTokens: true,
  includeContext: true,
  tools: each({ execution: true }),
  toolChoice: true,
} as const satisfies Shape

/** The params of a question, scanned with `questionShape`. */
export interface QuestionParams {
  readonly text: Buffer
  readonly root: Value
}

/**
 * Turns a question into an input request, an object of `method` and `params` (X-SRQ-01 … 09); schemas,
 * messages and unknown members pass byte for byte. `samplingContext`: the client declared it. A fresh Buffer.
 */
export function inputRequest(
  method: string,
  params: QuestionParams | undefined,
  samplingContext: boolean,
): Buffer {
  const name = JSON.stringify(method)
  if (params === undefined) return Buffer.from(`{"method":${name}}`)
  const { text, root } = params
  const splice = createSplice(text)
  spliceMeta(splice, root)
  splice.remove(root, 'task') // X-SRQ-02, L-TSK-05
  if (method === 'elicitation/create') splice.remove(root, 'elicitationId') // X-SRQ-05
  if (method === 'sampling/createMessage') {
    const context = stringOf(text, at(root, 'includeContext'))
    if (context !== 'none' && !samplingContext) splice.remove(root, 'includeContext') // X-SRQ-06
    removeExecution(splice, at(root, 'tools')) // X-SRQ-07
  }
  return Buffer.concat([Buffer.from(`{"method":${name},"params":`), ...splice.parts(), Buffer.from('}')])
}

/** X-SRQ-03: what is used here goes, and a `_meta` of nothing else with it. */
function spliceMeta(splice: Splice, params: Value): void {
  const own = at(params, '_meta')
  if (own === undefined) return
  const keys = ['progressToken', meta.relatedTask]
  if (own.kind === 'object') for (const key of keys) splice.remove(own, key)
  const kept = (own.count ?? 0) - keys.filter((key) => own.members?.has(key)).length
  if (kept === 0) splice.remove(params, '_meta')
}
