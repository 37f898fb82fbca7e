import { ProtocolError } from '../errors.ts'
import { SUPPORTED_REVISIONS } from './revisions.ts'
import { at, stringOf, type Value } from './scan.ts'

export interface MirroredHeaders {
  readonly version: string | undefined
  readonly method: string | undefined
  readonly name: string | undefined
}

/** Where the name stands that `Mcp-Name` mirrors (streamable-http §Standard Request Headers; SEP-2663). */
const NAMED_BY: Readonly<Record<string, 'name' | 'uri' | 'taskId'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

const PREFIX = '=?base64?'
const SUFFIX = '?='

/**
 * Holds the mirrored headers against the body (streamable-http §Server Validation): a mismatch first, then a
 * revision that is not served.
 *
 * @throws ProtocolError -32020, -32022 (M-HDR-01 … 04, M-VER-01)
 */
export function checkHeaders(headers: MirroredHeaders, version: string, method: string, text: Buffer, root: Value): void {
  equal('MCP-Protocol-Version', headers.version, version)
  if (!SUPPORTED_REVISIONS.includes(version)) throw unsupported(version)
  equal('Mcp-Method', headers.method, method)
  const member = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined
  const name = member && stringOf(text, at(root, 'params', member))
  if (name !== undefined) equal('Mcp-Name', decoded('Mcp-Name', headers.name), name)
}

/** A revision that is not served, with those that are. */
export function unsupported(requested: string | undefined): ProtocolError {
  const data = { supported: SUPPORTED_REVISIONS, ...(requested === undefined ? {} : { requested }) }
  return new ProtocolError(-32022, 'unsupported protocol version', 400, data)
}

function equal(header: string, value: string | undefined, expected: string): void {
  if (value === undefined) throw mismatch(`${header} is missing`)
  if (value !== expected) throw mismatch(`${header} does not match the body`)
}

/** The value behind the base64 sentinel (streamable-http §Value Encoding); without both marks it is literal. */
function decoded(header: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (!/^[\x20-\x7e\t]*$/.test(value)) throw mismatch(`${header} has characters that must be encoded`)
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length) return value
  const encoded = value.slice(PREFIX.length, -SUFFIX.length)
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) throw mismatch(`${header} is not valid base64`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw mismatch(`${header} is not valid UTF-8`)
  }
}

const mismatch = (message: string): ProtocolError => new ProtocolError(-32020, `Header mismatch: ${message}`)
