import { GatewayError } from '../errors.ts'
import type { Question } from '../mcp/question.ts'
import { at, scan, stringOf } from '../mcp/scan.ts'
import type { UrlElicitation } from '../mcp/urlElicitations.ts'
import type { Session } from '../upstream/session.ts'
import type { Asked } from './asked.ts'
import type { Outcome } from './outcome.ts'

/** How long a retry waits for the upstream to tell that what was opened is done (design §5.10). */
const COMPLETION_MS = 25_000

/** A question made from an entry of a `-32042` error (X-ERR-02). */
export function urlQuestion({ input, elicitationId }: UrlElicitation): Question {
  return {
    kind: 'elicitation',
    mode: 'url',
    method: 'elicitation/create',
    id: Buffer.alloc(0),
    input,
    preferredKey: undefined,
    progressToken: undefined,
    elicitationId,
    relatedTask: undefined,
    needs: 'url',
    requestedSchema: undefined,
  }
}

/** A URL that was not accepted decides the call: it is not issued again (X-ERR-05). */
export function declinedBy(answers: readonly Asked[]): Outcome | undefined {
  const declined = answers.some(
    ({ request, answer }) => request === undefined && answer && actionOf(answer) !== 'accept',
  )
  if (!declined) return undefined
  return { kind: 'error', error: new GatewayError('declined', 'what the server asked to open was declined') }
}

const actionOf = (answer: Buffer): string | undefined =>
  stringOf(answer, at(scan(answer, { action: true }), 'action'))

/** Consent is not completion (M-ELI-07): waits until the session that asked says so, or cannot. */
export function completionOf(session: Session | undefined, asked: Iterable<Asked>): Promise<void> {
  const ids = [...asked].flatMap(({ request, question }) =>
    request === undefined ? (question.elicitationId ?? []) : [],
  )
  return session === undefined || ids.length === 0 ? Promise.resolve() : session.completed(ids, COMPLETION_MS)
}
