import { readAs } from './message.ts'
import { meta } from './meta.ts'
import { removeExecution } from './removeExecution.ts'
import { at, each, type Shape, stringOf, type Value } from './scan.ts'
import { createSplice, type Splice } from './splice.ts'

const paramsShape = {
  _meta: { progressToken: true, [meta.relatedTask]: true },
  task: true,
  elicitationId: true,
  includeContext: true,
  tools: each({ execution: true }),
} as const satisfies Shape

export interface InputRequestOptions {
  readonly method: string
  /** The client declared `sampling.context`. */
  readonly samplingContext: boolean
}

/**
 * Turns the params of a question into an input request, an object of `method` and `params` (X-SRQ-01 … 09);
 * schemas, messages and unknown members pass byte for byte. A fresh Buffer.
 * @throws GatewayError 'upstream_protocol' for params that no client could parse
 */
export function inputRequest(
  params: Buffer | undefined,
  { method, samplingContext }: InputRequestOptions,
): Buffer {
  const name = JSON.stringify(method)
  if (params === undefined) return Buffer.from(`{"method":${name}}`)
  const root = readAs(params, paramsShape, { strict: true })
  const splice = createSplice(params)
  spliceMeta(splice, root)
  splice.remove(root, 'task') // X-SRQ-02, L-TSK-05
  if (method === 'elicitation/create') splice.remove(root, 'elicitationId') // X-SRQ-05
  if (method === 'sampling/createMessage') {
    const context = stringOf(params, at(root, 'includeContext'))
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
