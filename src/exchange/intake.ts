import type { Capabilities } from '../mcp/capabilities.ts'
import type { IncomingRequest } from '../mcp/message.ts'
import { type Question, type RequiredCapabilities, readQuestion } from '../mcp/question.ts'
import type { ModernRequest } from '../mcp/request.ts'
import { at } from '../mcp/scan.ts'
import { type Asked, type AskedBook, readEntries } from './asked.ts'
import { checkInputResponse } from './inputResponses.ts'

/** What becomes of a server request. */
export type Taken =
  | { readonly is: 'asked'; readonly asked: Asked }
  /** The first leg brought its answer along (M-MRTR-14). */
  | { readonly is: 'answered'; readonly asked: Asked; readonly payload: Buffer }
  /** Roots that this call has no round for; a later one tells them (X-SRQ-13). */
  | { readonly is: 'kept' }
  | {
      readonly is: 'refused'
      readonly code: -32601 | -32602
      readonly message: string
      readonly undeclared: RequiredCapabilities | undefined
    }

export interface IntakeOptions {
  readonly book: AskedBook
  readonly first: ModernRequest
  /** The method has rounds and its client declared something to ask for. */
  readonly mayAsk: boolean
}

/** Judges the server requests of one exchange by what its newest leg declares (design §4.9). */
export function createIntake({ book, first, mayAsk }: IntakeOptions) {
  const given = at(first.root, 'params', 'inputResponses') !== undefined

  /** @throws GatewayError `upstream_protocol` for what no client could parse */
  function take(request: IncomingRequest, capabilities: Capabilities, revision: string): Taken {
    const read = readQuestion(request, { capabilities })
    if (!read.ok)
      return { is: 'refused', code: read.code, message: read.message, undeclared: read.undeclared }
    const { question } = read
    if (!mayAsk && question.kind === 'roots') return { is: 'kept' }
    if (!mayAsk)
      return {
        is: 'refused',
        code: -32601,
        message: 'nobody can be asked during this request',
        undeclared: undefined,
      }
    const asked = book.add(question, request)
    const payload =
      given && asked.key === question.preferredKey ? givenFor(asked.key, question, revision) : undefined
    return payload === undefined ? { is: 'asked', asked } : { is: 'answered', asked, payload }
  }

  /** An answer that came with the first leg, if it is a valid one. */
  function givenFor(key: string, question: Question, revision: string): Buffer | undefined {
    try {
      const entry = readEntries(first, [key]).get(key)
      return entry && checkInputResponse(key, question, entry, revision)
    } catch {
      return undefined
    }
  }

  return take
}
