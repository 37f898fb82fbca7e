import { inputRequest, type QuestionParams, questionShape } from './inputRequest.ts'
import { codeOf, type IncomingResponse } from './message.ts'
import { at, each, ScanError, type Shape, scan, stringOf, textOf, type Value } from './scan.ts'

export interface UrlElicitation {
  /** The input request's JSON bytes, without `elicitationId`. */
  readonly input: Buffer
  /** Under which the upstream will tell that it is done. */
  readonly elicitationId: string | undefined
}

const URL_ELICITATION_REQUIRED = -32042

const dataShape = { elicitations: each(true) } as const satisfies Shape

/**
 * What a `-32042` error wants to have opened before the call is made again, as input requests (X-ERR-02);
 * entries that are no URL requests are left out. Undefined for other errors, and if nothing is left: such an
 * error passes by `errorDown` (X-ERR-04).
 */
export function urlElicitations(incoming: IncomingResponse): UrlElicitation[] | undefined {
  const data = at(incoming.root, 'error', 'data')
  if (codeOf(incoming) !== URL_ELICITATION_REQUIRED || data === undefined) return undefined
  try {
    const text = textOf(incoming.text, data)
    const entries = at(scan(text, dataShape, { strict: true }), 'elicitations')?.items ?? []
    const wanted = entries.map((entry) => readEntry(text, entry)).filter(isUrlRequest)
    return wanted.length === 0 ? undefined : wanted.map(elicitationOf)
  } catch (error) {
    if (error instanceof ScanError) return undefined
    throw error
  }
}

function readEntry(text: Buffer, entry: Value): QuestionParams {
  const own = textOf(text, entry)
  return { text: own, root: scan(own, questionShape) }
}

function isUrlRequest({ text, root }: QuestionParams): boolean {
  return (
    stringOf(text, at(root, 'mode')) === 'url' &&
    at(root, 'message')?.kind === 'string' &&
    URL.canParse(stringOf(text, at(root, 'url')) ?? '')
  )
}

function elicitationOf(params: QuestionParams): UrlElicitation {
  const { text, root } = params
  return {
    input: inputRequest('elicitation/create', params, false),
    elicitationId: stringOf(text, at(root, 'elicitationId')),
  }
}
