import { allCapabilities, capabilityKey, reduce } from '../mcp/capabilities.ts'
import type { ModernRequest } from '../mcp/request.ts'
import type { RouteOptions } from '../options/schema.ts'
import type { Want } from '../upstream/pool.ts'

/** The session that a request needs: one of its authorization context and capabilities (design §4.1). */
export function wantOf(
  route: RouteOptions,
  { caller, envelope }: ModernRequest,
  shareAnonymous: boolean,
): Want {
  const all = route.sessions.capabilities === 'all'
  const capabilities = all ? allCapabilities : reduce(envelope.capabilities)
  return {
    key: JSON.stringify([caller.context, capabilityKey(capabilities)]),
    principal: caller.principal,
    capabilities,
    credentials: caller.credentials,
    once: !route.sessions.reuse || (caller.anonymous && !shareAnonymous),
  }
}
