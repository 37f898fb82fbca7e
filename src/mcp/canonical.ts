import { createHash } from 'node:crypto'
import { canonicalNumber } from './decimal.ts'
import { decode } from './names.ts'
import {
  BACKSLASH,
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

/** A member's name and where its form is in the output. */
interface MemberForm {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Strings up to here are looked at byte by byte; a call of Buffer costs about as much. */
const NEAR_BYTES = 48

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
  const forms = createForms(text, skipSpace(text, value.start))
  forms.write(new Set(omit))
  return createHash('sha256').update(forms.written()).digest()
}

/**
 * Writes canonical forms. Each tells its own end: literals are a letter, numbers end in `;`, strings begin
 * with their length, arrays and objects are bracketed.
 */
function createForms(text: Buffer, start: number) {
  let at = start
  let out = Buffer.allocUnsafe(1024)
  let used = 0

  /** Writes the value at `at`, which then stands behind it. */
  function write(omit: ReadonlySet<string>): void {
    const first = at
    switch (text[at]) {
      case OPEN_BRACE:
        writeObject(omit)
        break
      case OPEN_BRACKET:
        writeArray()
        break
      case QUOTE:
        at = stringEnd(text, at, false)
        writeString(first, at)
        break
      case 0x74:
      case 0x66:
      case 0x6e:
        at = literalEnd(text, at)
        put(text[first] as number)
        break
      default:
        at = numberEnd(text, at)
        putChars(`${canonicalNumber(text.toString('latin1', first, at))};`)
    }
  }

  function writeObject(omit: ReadonlySet<string>): void {
    const members: MemberForm[] = []
    let last = ''
    let sorted = true
    put(OPEN_BRACE)
    const begin = used
    at = skipSpace(text, at + 1)
    while (text[at] !== CLOSE_BRACE) {
      const from = used
      const end = stringEnd(text, at, false)
      const name = decode(text, at, end)
      writeString(at, end)
      at = valueStart(text, end)
      write(none)
      skipComma()
      if (omit.has(name)) {
        used = from
        continue
      }
      members.push({ name, from, to: used })
      sorted &&= last <= name
      last = name
    }
    if (!sorted) {
      members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      Buffer.concat(members.map(({ from, to }) => out.subarray(from, to))).copy(out, begin)
    }
    at++
    put(CLOSE_BRACE)
  }

  function writeArray(): void {
    put(OPEN_BRACKET)
    at = skipSpace(text, at + 1)
    while (text[at] !== CLOSE_BRACKET) {
      write(none)
      skipComma()
    }
    at++
    put(CLOSE_BRACKET)
  }

  function skipComma(): void {
    at = skipSpace(text, at)
    if (text[at] === COMMA) at = skipSpace(text, at + 1)
  }

  /** UTF-8 has no form for a lone surrogate; strings with one are written in code units, marked `w`. */
  function writeString(start: number, end: number): void {
    if (!hasEscape(start + 1, end - 1)) {
      putChars(`s${end - start - 2}:`)
      putBytes(text, start + 1, end - 1)
      return
    }
    const decoded = decode(text, start, end)
    const whole = !LONE_SURROGATE.test(decoded)
    const bytes = Buffer.from(decoded, whole ? 'utf8' : 'utf16le')
    putChars(`${whole ? 's' : 'w'}${bytes.length}:`)
    putBytes(bytes, 0, bytes.length)
  }

  function hasEscape(start: number, end: number): boolean {
    if (end - start > NEAR_BYTES) return text.subarray(start, end).includes(BACKSLASH)
    for (let i = start; i < end; i++) if (text[i] === BACKSLASH) return true
    return false
  }

  function put(byte: number): void {
    if (used === out.length) grow(1)
    out[used++] = byte
  }

  function putChars(chars: string): void {
    if (used + chars.length > out.length) grow(chars.length)
    if (chars.length > NEAR_BYTES) out.write(chars, used, 'latin1')
    else for (let i = 0; i < chars.length; i++) out[used + i] = chars.charCodeAt(i)
    used += chars.length
  }

  function putBytes(bytes: Buffer, start: number, end: number): void {
    if (used + end - start > out.length) grow(end - start)
    if (end - start > NEAR_BYTES) bytes.copy(out, used, start, end)
    else for (let i = start; i < end; i++) out[used + i - start] = bytes[i] as number
    used += end - start
  }

  function grow(bytes: number): void {
    const larger = Buffer.allocUnsafe(2 * out.length + bytes)
    out.copy(larger, 0, 0, used)
    out = larger
  }

  return { write, written: () => out.subarray(0, used) }
}
