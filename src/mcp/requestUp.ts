import { meta } from './meta.ts'
import { knows } from './revision.ts'
import { at, type Shape, scan, stringOf, type Value } from './scan.ts'
import { createSplice, type Splice } from './splice.ts'

export interface RequestUpOptions {
  /** The id that the upstream sees, from the counter of that upstream (L-BASE-01). */
  readonly id: number
  /** Our token, if the client gave one (X-ENV-02). */
  readonly progressToken?: number | string | undefined
  /** The upstream's revision. */
  readonly revision: string
}

/** X-ENV-01: the modern envelope, which some legacy servers refuse. */
const envelopeKeys = [meta.protocolVersion, meta.clientInfo, meta.clientCapabilities, meta.logLevel]
/** X-ENV-03: members of rounds; X-ENV-04: what would make a task that nobody asked for. */
const modernParams = ['inputResponses', 'requestState', 'task']

const metaShape = {
  progressToken: true,
  [meta.protocolVersion]: true,
  [meta.clientInfo]: true,
  [meta.clientCapabilities]: true,
  [meta.logLevel]: true,
} as const

const completionShape = {
  id: true,
  method: true,
  params: {
    inputResponses: true,
    requestState: true,
    task: true,
    context: true,
    ref: { title: true },
    _meta: metaShape,
  },
} as const satisfies Shape

/**
 * Turns a modern request that passed the door into one for a legacy upstream: our id and token, without the
 * envelope and the members of rounds; all else byte for byte.
 */
export function requestUp(
  request: { readonly text: Buffer; readonly root: Value },
  { id, progressToken, revision }: RequestUpOptions,
): Buffer {
  const { text } = request
  const completes = stringOf(text, at(request.root, 'method')) === 'completion/complete'
  const root = completes ? scan(text, completionShape) : request.root
  const splice = createSplice(text)
  splice.set(root, 'id', String(id)) // X-ENV-05
  const params = at(root, 'params')
  if (params?.kind !== 'object') return splice.bytes()
  for (const name of modernParams) splice.remove(params, name)
  if (completes && !knows(revision).completionContext) removeContext(splice, params)
  spliceEnvelope(splice, params, progressToken)
  return splice.bytes()
}

/** X-RES-06: what completion knows from 2025-06-18 on. */
function removeContext(splice: Splice, params: Value): void {
  splice.remove(params, 'context')
  const ref = at(params, 'ref')
  if (ref?.kind === 'object') splice.remove(ref, 'title')
}

function spliceEnvelope(splice: Splice, params: Value, progressToken: number | string | undefined): void {
  const own = at(params, '_meta')
  if (own?.kind !== 'object') return
  const gone = progressToken === undefined ? [...envelopeKeys, 'progressToken'] : envelopeKeys
  for (const key of gone) splice.remove(own, key)
  if (progressToken !== undefined) {
    splice.set(own, 'progressToken', JSON.stringify(progressToken))
    return
  }
  const kept = (own.count ?? 0) - gone.filter((key) => own.members?.has(key)).length
  if (kept === 0) splice.remove(params, '_meta')
}
