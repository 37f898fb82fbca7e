import { createHash } from 'node:crypto'
import { GatewayError } from '../errors.ts'
import { canonicalDigest } from '../mcp/canonical.ts'
import type { IncomingRequest } from '../mcp/message.ts'
import type { Question } from '../mcp/question.ts'
import type { ModernRequest } from '../mcp/request.ts'
import { at, type Shape, scan, textOf } from '../mcp/scan.ts'

/** A server request that was taken in for the client to answer. */
export interface Asked {
  readonly id: number
  /** Its key in `inputRequests`, unique over the exchange (M-MRTR-04). */
  readonly key: string
  /** Undefined for a URL that the upstream's error named: no answer is owed to it. */
  readonly request: IncomingRequest | undefined
  readonly question: Question
  /** What goes upstream as the `result`, once a retry gave it. */
  answer: Buffer | undefined
  withdrawn: boolean
}

/** All questions of one exchange, under the keys that its client knows them by (design §5.2). */
export function createAsked() {
  const byId = new Map<number, Asked>()
  const keys = new Set<string>()
  const counters = { elicitation: 0, sampling: 0, roots: 0 }

  function keyFor(question: Question): string {
    const { preferredKey } = question
    if (preferredKey !== undefined && !keys.has(preferredKey)) return preferredKey
    counters[question.kind] += 1
    return `${question.kind}-${counters[question.kind]}`
  }

  return {
    add(question: Question, request?: IncomingRequest): Asked {
      const asked: Asked = {
        id: byId.size + 1,
        key: keyFor(question),
        request,
        question,
        answer: undefined,
        withdrawn: false,
      }
      keys.add(asked.key)
      byId.set(asked.id, asked)
      return asked
    },
    get: (id: number): Asked | undefined => byId.get(id),
    /** The question of this raw JSON-RPC id, the latest if an upstream reuses ids. */
    find(requestId: string): Asked | undefined {
      return [...byId.values()].findLast((each) => each.request?.id.toString('latin1') === requestId)
    },
    all: (): IterableIterator<Asked> => byId.values(),
    /** The questions of these ids, for an `inputRequests` object. */
    inputRequests(ids: readonly number[]): Buffer {
      const parts: Buffer[] = []
      for (const id of ids) {
        const asked = byId.get(id)
        if (asked === undefined) continue
        parts.push(
          Buffer.from(`${parts.length > 0 ? ',' : ''}${JSON.stringify(asked.key)}:`),
          asked.question.input,
        )
      }
      return Buffer.concat([Buffer.from('{'), ...parts, Buffer.from('}')])
    },
  }
}

export const isRoots = (asked: Asked): boolean => asked.question.kind === 'roots'

export type AskedBook = ReturnType<typeof createAsked>

/**
 * The entries of `inputResponses` under these keys, as their JSON bytes; others are ignored (M-MRTR-12).
 *
 * @throws GatewayError `invalid_input_response` if it is no object (M-MRTR-11)
 */
export function readEntries(request: ModernRequest, keys: Iterable<string>): Map<string, Buffer> {
  const entries = new Map<string, Buffer>()
  const responses = at(request.root, 'params', 'inputResponses')
  if (responses === undefined) return entries
  if (responses.kind !== 'object') {
    throw new GatewayError('invalid_input_response', 'params.inputResponses must be an object')
  }
  const text = textOf(request.text, responses)
  const shape: Record<string, Shape> = Object.create(null)
  for (const key of keys) shape[key] = true
  const root = scan(text, shape)
  for (const key of keys) {
    const value = at(root, key)
    if (value !== undefined) entries.set(key, textOf(text, value))
  }
  return entries
}

/** Equal for retries that give the same answers, however they spell them. */
export function digestOf(entries: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256')
  for (const key of [...entries.keys()].sort()) {
    const entry = entries.get(key)
    if (entry === undefined) continue
    hash.update(JSON.stringify(key)).update(canonicalDigest(entry, scan(entry, true)))
  }
  return hash.digest('base64')
}
