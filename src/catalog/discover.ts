import { discoverResult } from '../mcp/capabilities.ts'
import type { Answer, ModernRequest } from '../mcp/request.ts'
import type { Hints } from '../mcp/resultDown.ts'
import { SUPPORTED_REVISIONS } from '../mcp/revisions.ts'
import type { Want } from '../upstream/pool.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { createCompletes } from './completes.ts'

export interface Discovering {
  readonly upstream: Upstream
  readonly completes: ReturnType<typeof createCompletes>
}

/**
 * `server/discover` from what `initialize` said on the shared session of the caller's key, opened if there is
 * none: an upstream that is down is an error, never an invented answer (M-VER-02, X-CAP-01).
 */
export async function discover(
  { upstream, completes }: Discovering,
  want: Want,
  hints: Hints,
  request: ModernRequest,
  answer: Answer,
): Promise<void> {
  const lease = await upstream.share(want)
  try {
    const completions = await completes(lease.session, upstream.nextId, want.credentials)
    // What `subscriptions/listen` could not deliver is not promised (M-VER-03, X-CAP-05).
    const streams = lease.session.listening()
    const options = { streams, completions, supportedVersions: SUPPORTED_REVISIONS, hints }
    answer.end([HEAD, request.id, RESULT, discoverResult(lease.session.handshake.result, options), TAIL])
  } finally {
    lease.release(true)
  }
}

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":')
const RESULT = Buffer.from(',"result":')
const TAIL = Buffer.from('}')
