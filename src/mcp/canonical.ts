import { createHash } from 'node:crypto'
import { canonicalNumber } from './decimal.ts'
import { decode } from './names.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  literalEnd,
  numberEnd,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  stringEnd,
  valueStart,
} from './tokens.ts'

interface MemberForm {
  readonly name: string
  readonly form: string
}

/** A name whose bytes are its characters. */
const PLAIN = /^[ -[\]-~]*$/

/** With the `u` flag a pair is one character and does not match. */
const LONE_SURROGATE = /\p{Surrogate}/u

const none: ReadonlySet<string> = new Set()

/**
 * SHA-256 over a canonical form of a JSON value: equal for two texts exactly if they mean the same. The order
 * of members, white space, escapes and the spelling of numbers do not count; numbers are compared as exact
 * decimals (2^53+1 is not 2^53), strings by UTF-16 code unit. The members named in `omit` are left out at the
 * top level. `value` must lie in a text that was scanned, which bounds its depth.
 * @throws ScanError 'syntax' for a string that `scan` does not check unless it is strict
 */
export function canonicalDigest(
  text: Buffer,
  value: { readonly start: number; readonly end: number } = { start: 0, end: text.length },
  omit: readonly string[] = [],
): Buffer {
  const form = createForms(text.subarray(value.start, value.end)).next(new Set(omit))
  return createHash('sha256').update(form, 'latin1').digest()
}

/**
 * Writes canonical forms, as strings with one character a byte. Each form tells its own end: literals are a
 * letter, numbers end in `;`, strings begin with their length, arrays and objects are bracketed.
 */
function createForms(text: Buffer) {
  const chars = text.toString('latin1') // one conversion; slices of it are cheap
  let at = skipSpace(text, 0)

  /** The form of the value at `at`, which then stands behind it. */
  function next(omit: ReadonlySet<string>): string {
    const first = at
    switch (text[at]) {
      case OPEN_BRACE:
        return object(omit)
      case OPEN_BRACKET:
        return array()
      case QUOTE:
        at = stringEnd(text, at, false)
        return stringForm(first, at)
      case 0x74:
      case 0x66:
      case 0x6e:
        at = literalEnd(text, at)
        return String.fromCharCode(text[first] as number)
      default:
        at = numberEnd(text, at)
        return `${canonicalNumber(chars.slice(first, at))};`
    }
  }

  function object(omit: ReadonlySet<string>): string {
    const members: MemberForm[] = []
    at = skipSpace(text, at + 1)
    while (text[at] !== CLOSE_BRACE) {
      const first = at
      const end = stringEnd(text, at, false)
      at = valueStart(text, end)
      const name = nameOf(first, end)
      const form = stringForm(first, end) + next(none)
      if (!omit.has(name)) members.push({ name, form })
      skipComma()
    }
    at++
    members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    let form = '{'
    for (const member of members) form += member.form
    return `${form}}`
  }

  function array(): string {
    let form = '['
    at = skipSpace(text, at + 1)
    while (text[at] !== CLOSE_BRACKET) {
      form += next(none)
      skipComma()
    }
    at++
    return `${form}]`
  }

  function skipComma(): void {
    at = skipSpace(text, at)
    if (text[at] === COMMA) at = skipSpace(text, at + 1)
  }

  function nameOf(start: number, end: number): string {
    const written = chars.slice(start + 1, end - 1)
    return PLAIN.test(written) ? written : decode(text, start, end)
  }

  /** UTF-8 has no form for a lone surrogate; strings with one are written in code units, marked `w`. */
  function stringForm(start: number, end: number): string {
    const written = chars.slice(start + 1, end - 1)
    if (!written.includes('\\')) return `s${written.length}:${written}`
    const decoded = decode(text, start, end)
    const whole = !LONE_SURROGATE.test(decoded)
    const bytes = Buffer.from(decoded, whole ? 'utf8' : 'utf16le').toString('latin1')
    return `${whole ? 's' : 'w'}${bytes.length}:${bytes}`
  }

  return { next }
}
