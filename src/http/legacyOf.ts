import { eraOf, namesModern } from '../mcp/era.ts'
import { requestShape } from '../mcp/jsonrpc.ts'
import { at, scan } from '../mcp/scan.ts'

/** Names that differ from ours by case alone are the upstream's affair, as it tells them apart. */
const SCAN = { strict: true, maxDepth: 64 }

/**
 * Whether a request is of an earlier revision, and so for the upstream as it is; undefined for a modern one.
 * `begins`: it asks for something, rather than answering, telling or ending.
 *
 * @throws ScanError for a body that no era can read
 */
export function legacyOf(
  verb: 'GET' | 'POST' | 'DELETE',
  version: string | undefined,
  body: Buffer,
): { readonly begins: boolean } | undefined {
  if (verb !== 'POST') return { begins: verb === 'GET' }
  if (namesModern(version)) return undefined
  const root = scan(body, requestShape, SCAN)
  if (eraOf(version, root) === 'modern') return undefined
  const asks = at(root, 'method') !== undefined && at(root, 'id') !== undefined
  // A batch of 2025-03-26 may hold anything.
  return { begins: asks || root.kind === 'array' }
}
