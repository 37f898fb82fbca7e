/** In which forms a client takes its answer. */
export interface Accepts {
  readonly json: boolean
  readonly sse: boolean
}

const BOTH: Accepts = { json: true, sse: true }
/** What the official clients send. */
const USUAL = 'application/json, text/event-stream'

/** Reads an `Accept` header: the most specific range decides, `q=0` refuses (RFC 9110 §12.5.1). */
export function acceptsOf(header: string | undefined): Accepts {
  if (header === undefined || header === USUAL || header.trim() === '') return BOTH
  const weights = new Map<string, number>()
  for (const range of header.toLowerCase().split(',')) {
    const [media = '', ...parameters] = range.split(';').map((part) => part.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(media, q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const takes = (type: string, major: string): boolean =>
    (weights.get(type) ?? weights.get(major) ?? weights.get('*/*') ?? 0) > 0
  return { json: takes('application/json', 'application/*'), sse: takes('text/event-stream', 'text/*') }
}
