import { meta } from './meta.ts'
import { at, type Value } from './scan.ts'

/** From this date on requests stand alone. */
const FIRST_MODERN = '2026-07-28'
const DATE = /^\d{4}-\d{2}-\d{2}$/

/** Whether a `MCP-Protocol-Version` is that of a revision whose requests stand alone, served or not. */
export function namesModern(version: string | undefined): boolean {
  return version !== undefined && DATE.test(version) && version >= FIRST_MODERN
}

/**
 * The era of a POST: modern if its `MCP-Protocol-Version` is that date or a later one, or its body's envelope
 * names a version (versioning §Backward Compatibility); every other request is legacy.
 */
export function eraOf(version: string | undefined, root: Value): 'modern' | 'legacy' {
  if (namesModern(version)) return 'modern'
  return at(root, 'params', '_meta', meta.protocolVersion) === undefined ? 'legacy' : 'modern'
}
