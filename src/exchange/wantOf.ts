import { allCapabilities, capabilityKey, reduce } from '../mcp/capabilities.ts'
import type { ModernRequest } from '../mcp/request.ts'
import type { RouteOptions } from '../options/schema.ts'
import type { Want } from '../upstream/pool.ts'

/** Counts the callers without credentials, where they are strangers to each other. */
let alone = 0

/**
 * The session that a request needs: one of its authorization context and capabilities (design §4.1). Where all
 * calls of a context are pinned to one session, that session declares everything and each request's own
 * capabilities are kept here, since an earlier request must not decide what a later one may be asked (M-BASE-11).
 */
export function wantOf(
  route: RouteOptions,
  { caller, envelope }: ModernRequest,
  shareAnonymous: boolean,
): Want {
  const { affinity, capabilities: declare } = route.sessions
  const all = declare === 'all' || affinity === 'context'
  const capabilities = all ? allCapabilities : reduce(envelope.capabilities)
  const isolated = caller.anonymous && !shareAnonymous
  return {
    context: isolated ? `alone ${++alone}` : caller.context,
    key: JSON.stringify([caller.context, capabilityKey(capabilities)]),
    principal: caller.principal,
    capabilities,
    credentials: caller.credentials,
    once: !route.sessions.reuse || isolated,
  }
}
