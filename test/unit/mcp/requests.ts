import { requestShape } from '../../../src/mcp/jsonrpc.ts'
import { meta } from '../../../src/mcp/meta.ts'
import { scan, type Value } from '../../../src/mcp/scan.ts'

/** A body as the door scans it. */
export function scanned(body: string | object): { text: Buffer; root: Value } {
  const text = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return { text, root: scan(text, requestShape, { strict: true, foldCase: true }) }
}

/** An envelope with what is required, changed by `members`; `undefined` leaves one out. */
export function envelope(members: Record<string, unknown> = {}): Record<string, unknown> {
  return { [meta.protocolVersion]: '2026-07-28', [meta.clientCapabilities]: {}, ...members }
}

/** A request with an envelope. */
export function requestBody(
  method: string,
  params: object = {},
  members: Record<string, unknown> = {},
): object {
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: envelope(members) } }
}

/** What `act` throws. */
export function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
