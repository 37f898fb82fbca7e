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
  value: { readonly start: number } = { start: 0 },
  omit: readonly string[] = [],
): Buffer {
  const form = createForms(text, skipSpace(text, value.start)).next(new Set(omit))
  return createHash('sha256').update(form, 'latin1').digest()
}

/**
 * Writes canonical forms, as strings with one character a byte. Each form tells its own end: literals are a
 * letter, numbers end in `;`, strings begin with their length, arrays and objects are bracketed.
 */
function createForms(text: Buffer, start: number) {
  let at = start

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
        return stringForm(text, first, at)
      case 0x74:
      case 0x66:
      case 0x6e:
        at = literalEnd(text, at)
        return String.fromCharCode(text[first] as number)
      default:
        at = numberEnd(text, at)
        return `${canonicalNumber(text.toString('latin1', first, at))};`
    }
  }

  function object(omit: ReadonlySet<string>): string {
    const members: MemberForm[] = []
    at = skipSpace(text, at + 1)
    while (text[at] !== CLOSE_BRACE) {
      const first = at
      const end = stringEnd(text, at, false)
      at = valueStart(text, end)
      const name = decode(text, first, end)
      const form = stringForm(text, first, end) + next(none)
      if (!omit.has(name)) members.push({ name, form })
      skipComma()
    }
    at++
    members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    return `{${members.map(({ form }) => form).join('')}}`
  }

  function array(): string {
    const items: string[] = []
    at = skipSpace(text, at + 1)
    while (text[at] !== CLOSE_BRACKET) {
      items.push(next(none))
      skipComma()
    }
    at++
    return `[${items.join('')}]`
  }

  function skipComma(): void {
    at = skipSpace(text, at)
    if (text[at] === COMMA) at = skipSpace(text, at + 1)
  }

  return { next }
}

/** UTF-8 has no form for a lone surrogate; strings with one are written in code units, marked `w`. */
function stringForm(text: Buffer, start: number, end: number): string {
  const written = text.toString('latin1', start + 1, end - 1)
  if (!written.includes('\\')) return `s${written.length}:${written}`
  const decoded = decode(text, start, end)
  const whole = !LONE_SURROGATE.test(decoded)
  const bytes = Buffer.from(decoded, whole ? 'utf8' : 'utf16le').toString('latin1')
  return `${whole ? 's' : 'w'}${bytes.length}:${bytes}`
}
