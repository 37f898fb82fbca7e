import { ProtocolError } from '../errors.ts'
import { meta } from './meta.ts'
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

/** Characters that a header may carry as they are (M-HDR-07). */
const PLAIN = /^[\x20-\x7e\t]*$/

/**
 * Holds the mirrored headers against the body (streamable-http §Server Validation): a mismatch first, then a
 * revision that is not served.
 *
 * @throws ProtocolError -32020, -32022 (M-HDR-01 … 04, M-VER-01)
 */
export function checkHeaders(
  headers: MirroredHeaders,
  version: string,
  method: string,
  text: Buffer,
  root: Value,
): void {
  same('MCP-Protocol-Version', plain('MCP-Protocol-Version', headers.version), version)
  if (!SUPPORTED_REVISIONS.includes(version)) throw unsupported(version)
  same('Mcp-Method', plain('Mcp-Method', headers.method), method)
  const member = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined
  const name = member && stringOf(text, at(root, 'params', member))
  // Without a name in the body there is nothing to mirror; what is wrong then is the parameters' affair.
  if (name !== undefined) same('Mcp-Name', decoded('Mcp-Name', plain('Mcp-Name', headers.name)), name)
}

/**
 * The same for a notification, which needs no envelope and no mirrored headers; those it has must agree
 * (M-HTTP-05).
 *
 * @throws ProtocolError -32020, -32022
 */
export function checkNotification(headers: MirroredHeaders, method: string, text: Buffer, root: Value): void {
  const own = at(root, 'params', '_meta', meta.protocolVersion)
  const claimed = own === undefined ? headers.version : stringOf(text, own)
  if (claimed === undefined)
    throw new ProtocolError(-32602, `params._meta["${meta.protocolVersion}"] must be a string`)
  if (headers.version !== undefined)
    same('MCP-Protocol-Version', plain('MCP-Protocol-Version', headers.version), claimed)
  if (!SUPPORTED_REVISIONS.includes(claimed)) throw unsupported(claimed)
  if (headers.method !== undefined) same('Mcp-Method', plain('Mcp-Method', headers.method), method)
}

/** A revision that is not served, with those that are. */
export function unsupported(requested: string): ProtocolError {
  const data = { supported: SUPPORTED_REVISIONS, requested }
  return new ProtocolError(-32022, 'unsupported protocol version', 400, data)
}

function same(header: string, value: string, expected: string): void {
  if (value !== expected) throw mismatch(`${header} does not match the body`)
}

/**
 * The header's value, if it is there and has no characters that would have to be encoded.
 *
 * @throws ProtocolError -32020 (M-HDR-07)
 */
export function plain(header: string, value: string | undefined): string {
  if (value === undefined) throw mismatch(`${header} is missing`)
  if (!PLAIN.test(value)) throw mismatch(`${header} has characters that must be encoded`)
  return value
}

/**
 * The value behind the base64 sentinel (streamable-http §Value Encoding); without both marks it is literal.
 *
 * @throws ProtocolError -32020 (M-HDR-04)
 */
export function decoded(header: string, value: string): string {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX) || value.length < PREFIX.length + SUFFIX.length)
    return value
  const encoded = value.slice(PREFIX.length, -SUFFIX.length)
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) throw mismatch(`${header} is not valid base64`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw mismatch(`${header} is not valid UTF-8`)
  }
}

/** Headers and body disagree (streamable-http §Server Validation). */
export function mismatch(message: string): ProtocolError {
  return new ProtocolError(-32020, `Header mismatch: ${message}`)
}
