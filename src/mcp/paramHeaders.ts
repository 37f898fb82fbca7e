import { canonicalNumber } from './decimal.ts'
import { decoded, mismatch, plain } from './headers.ts'
import type { MirroredParams } from './mirroredParams.ts'
import { at, scan, stringOf, textOf, type Value } from './scan.ts'

/** Headers that mirror parameters of a tool call, by lower-case name. */
export type ParamHeaders = ReadonlyMap<string, string>

const PREFIX = 'mcp-param-'
export const noParamHeaders: ParamHeaders = new Map()

/** The mirrored parameters among a request's headers, whose names are in lower case. */
export function paramHeadersOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ParamHeaders {
  let found: Map<string, string> | undefined
  for (const name in headers) {
    const value = headers[name]
    if (!name.startsWith(PREFIX) || typeof value !== 'string') continue
    found ??= new Map()
    found.set(name, value)
  }
  return found ?? noParamHeaders
}

/**
 * Holds the headers of a tool call against its arguments: a value in the body needs its header, and equal;
 * a header without a value in the body is ignored (streamable-http §Custom Headers). No message has a value in
 * it (M-TOOL-07).
 *
 * @throws ProtocolError -32020 (M-HDR-04 … 07); ScanError for a mirrored parameter that occurs twice
 */
export function checkParamHeaders(
  { params, shape }: MirroredParams,
  headers: ParamHeaders,
  text: Buffer,
  args: Value | undefined,
): void {
  const own = args?.kind === 'object' ? textOf(text, args) : EMPTY
  const root = scan(own, shape)
  for (const { header, path } of params) {
    const given = headers.get(header.toLowerCase())
    if (given !== undefined) plain(header, given)
    const value = at(root, ...path)
    if (value === undefined || !isMirrored(own, value)) continue
    if (!agrees(own, value, decoded(header, plain(header, given)))) {
      throw mismatch(`${header} does not match the body`)
    }
  }
}

const EMPTY = Buffer.from('{}')

/** Null is no value; objects, arrays and unsafe integers are what no header carries (M-HDR-05, M-HDR-06). */
function isMirrored(text: Buffer, value: Value): boolean {
  if (value.kind !== 'number') return value.kind === 'string' || value.kind === 'boolean'
  const number = Number(textOf(text, value).toString('latin1'))
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number))
}

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

function agrees(text: Buffer, value: Value, header: string): boolean {
  if (value.kind === 'string') return header === stringOf(text, value)
  const written = textOf(text, value).toString('latin1')
  if (value.kind === 'boolean' || header === written) return header === written
  return DECIMAL.test(header) && canonicalNumber(header) === canonicalNumber(written)
}
