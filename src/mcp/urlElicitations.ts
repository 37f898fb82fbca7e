import { inputRequest } from './inputRequest.ts'
import { codeOf, type IncomingResponse, readAs } from './message.ts'
import { at, each, type Shape, stringOf, textOf, type Value } from './scan.ts'

export interface UrlElicitation {
  /** The input request's JSON bytes, without `elicitationId`. */
  readonly input: Buffer
  /** Under which the upstream will tell that it is done. */
  readonly elicitationId: string | undefined
}

const URL_ELICITATION_REQUIRED = -32042

const dataShape = {
  elicitations: each({ mode: true, message: true, url: true, elicitationId: true }),
} as const satisfies Shape

/**
 * What a `-32042` error wants to have opened before the call is made again, as input requests (X-ERR-02);
 * entries that are no URL requests are left out. Undefined for other errors, and if nothing is left: such an
 * error passes by `errorDown` (X-ERR-04).
 */
export function urlElicitations(incoming: IncomingResponse): UrlElicitation[] | undefined {
  const data = at(incoming.root, 'error', 'data')
  if (codeOf(incoming) !== URL_ELICITATION_REQUIRED || data?.kind !== 'object') return undefined
  const text = textOf(incoming.text, data)
  const entries = at(readAs(text, dataShape, { strict: true }), 'elicitations')?.items ?? []
  const wanted = entries.filter((entry) => isUrlRequest(text, entry))
  if (wanted.length === 0) return undefined
  return wanted.map((entry) => ({
    input: inputRequest(textOf(text, entry), { method: 'elicitation/create', samplingContext: false }),
    elicitationId: stringOf(text, at(entry, 'elicitationId')),
  }))
}

function isUrlRequest(text: Buffer, entry: Value): boolean {
  return (
    stringOf(text, at(entry, 'mode')) === 'url' &&
    at(entry, 'message')?.kind === 'string' &&
    URL.canParse(stringOf(text, at(entry, 'url')) ?? '')
  )
}
