import { GatewayError, ProtocolError } from '../errors.ts'
import { errorDown } from '../mcp/errorDown.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import type { ModernRequest } from '../mcp/request.ts'
import { type Hints, resultDown } from '../mcp/resultDown.ts'
import { at, textOf } from '../mcp/scan.ts'
import type { Handshake } from '../upstream/session.ts'
import { missingCapability } from './missingCapability.ts'
import { nameOf } from './name.ts'
import type { Outcome } from './outcome.ts'

export type { Hints }

export interface OutcomeContext {
  readonly first: ModernRequest
  readonly handshake: Handshake | undefined
  readonly hints: Hints
  /** The result took rounds, so nobody may cache it (M-CACHE-04). */
  readonly rounds: boolean
  /** A question was refused for want of this capability. */
  readonly undeclared: Readonly<Record<string, unknown>> | undefined
}

/**
 * What an upstream's response means for the client. A call that failed after a question was refused for want
 * of a capability needed that capability (M-BASE-16); otherwise the upstream's own word passes.
 */
export function outcomeOf(response: IncomingResponse, context: OutcomeContext): Outcome {
  const { first, handshake, hints, rounds, undeclared } = context
  const { method } = first
  if (undeclared !== undefined && (!response.ok || isError(response))) {
    return { kind: 'error', error: missingCapability(undeclared) }
  }
  try {
    if (!response.ok) return { kind: 'message', ...errorDown(response, { method, uri: uriOf(first) }) }
    const down = resultDown(response, { method, serverInfo: handshake?.serverInfo, hints, rounds })
    return { kind: 'message', ...down, status: 200 }
  } catch (cause) {
    const error =
      cause instanceof GatewayError
        ? cause
        : new GatewayError('upstream_protocol', 'the upstream sent what cannot be read', { cause })
    return { kind: 'error', error }
  }
}

const isError = ({ text, root }: IncomingResponse): boolean => {
  const value = at(root, 'result', 'isError')
  return value !== undefined && textOf(text, value).toString('latin1') === 'true'
}

const uriOf = (request: ModernRequest): string | undefined =>
  request.method === 'resources/read' ? nameOf(request) : undefined

/** The capability without which an upstream has no such method (M-VER-03). */
const NEEDS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'tools/call': 'tools',
  'prompts/list': 'prompts',
  'prompts/get': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resources',
  'resources/read': 'resources',
  'completion/complete': 'completions',
}

/** Why the upstream cannot serve `method`, if it never declared it: `-32601`, 404, without asking it. */
export function undeclaredMethod(
  { capabilities, revision }: Handshake,
  method: string,
): ProtocolError | undefined {
  const needed = NEEDS[method]
  if (needed === undefined || capabilities[needed] !== undefined) return undefined
  // Before 2025-03-26 nothing declared completion (X-CAP-04).
  if (needed === 'completions' && revision === '2024-11-05') return undefined
  return new ProtocolError(-32601, `the server does not have ${method}`, 404)
}
