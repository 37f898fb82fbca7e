import { ScanError, unexpected } from './scanError.ts'

/*
 * Where JSON tokens and values end (RFC 8259). All functions take the offset of a first byte and return
 * the offset after the last one, in one pass over the bytes.
 */

export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const BACKSLASH = 0x5c
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d

/** Bytes of a string that are looked at one by one before a search takes over; calling it costs about as much. */
const NEAR_BYTES = 48

/** The first offset from `at` on that holds no JSON whitespace. */
export function skipSpace(text: Buffer, at: number): number {
  const end = text.length
  while (at < end) {
    const byte = text[at] as number
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at
    at++
  }
  return at
}

/** The end of the string whose opening quote is at `open`; `strict` checks its characters and escapes too. */
export function stringEnd(text: Buffer, open: number, strict: boolean): number {
  const end = text.length
  let at = open + 1
  while (at < end) {
    const near = Math.min(end, at + NEAR_BYTES - ((text.byteOffset + at) % 4))
    while (at < near) {
      const byte = text[at] as number
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) at = strict ? escapeEnd(text, at) : at + 2
      else if (strict && byte < 0x20) throw new ScanError('syntax', at, 'a raw control character in a string')
      else at++
    }
    if (at >= end) break
    if (strict) {
      at = harmlessEnd(text, at)
      continue
    }
    const quote = text.indexOf(QUOTE, at)
    if (quote === -1) break
    let slashes = 0
    while (quote - slashes > at && text[quote - slashes - 1] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
    at = quote + 1
  }
  throw new ScanError('truncated', end, 'the text ends inside a string')
}

/**
 * Skips words of four bytes without a quote, a backslash or a control character, which is several times
 * faster than byte by byte: each term sets the top bit of a byte that is zero, or below 0x20.
 */
function harmlessEnd(text: Buffer, at: number): number {
  if ((text.byteOffset + at) % 4 !== 0) return at
  const words = new Int32Array(text.buffer, text.byteOffset + at, (text.length - at) >> 2)
  let i = 0
  for (; i < words.length; i++) {
    const word = words[i] as number
    const quote = word ^ 0x22222222
    const slash = word ^ 0x5c5c5c5c
    const low = (word - 0x20202020) & ~word
    if ((low | ((quote - 0x01010101) & ~quote) | ((slash - 0x01010101) & ~slash)) & 0x80808080) break
  }
  return at + 4 * i
}

function escapeEnd(text: Buffer, at: number): number {
  switch (text[at + 1]) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 2
    case 0x75:
      for (let digit = at + 2; digit < at + 6; digit++) {
        if (!isHex(text[digit])) unexpected(text, digit, 'a hexadecimal digit')
      }
      return at + 6
    default:
      return unexpected(text, at + 1, 'an escape')
  }
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}

/** The end of the number that begins at `at`. */
export function numberEnd(text: Buffer, at: number): number {
  if (text[at] === 0x2d) at++
  if (text[at] === 0x30) at++
  else at = digitsEnd(text, at, 'a value')
  if (text[at] === 0x2e) at = digitsEnd(text, at + 1, 'a digit')
  if (((text[at] ?? 0) | 0x20) === 0x65) {
    const sign = text[at + 1]
    at = digitsEnd(text, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1, 'a digit')
  }
  return at
}

function digitsEnd(text: Buffer, at: number, wanted: string): number {
  const end = text.length
  const first = at
  while (at < end && (text[at] as number) >= 0x30 && (text[at] as number) <= 0x39) at++
  return at === first ? unexpected(text, at, wanted) : at
}

/** The end of `true`, `false` or `null`. */
export function literalEnd(text: Buffer, at: number): number {
  const word = text[at] === 0x74 ? 'true' : text[at] === 0x66 ? 'false' : 'null'
  for (let i = 0; i < word.length; i++) {
    if (text[at + i] !== word.charCodeAt(i)) unexpected(text, at + i, `'${word}'`)
  }
  return at + word.length
}

/**
 * The end of the value that begins at `at`, with its whole structure checked; `room` is how many levels of
 * nesting are still allowed (the recursion is bounded by it).
 */
export function valueEnd(text: Buffer, at: number, room: number, strict: boolean): number {
  switch (text[at]) {
    case QUOTE:
      return stringEnd(text, at, strict)
    case OPEN_BRACE:
      return objectEnd(text, at, room, strict)
    case OPEN_BRACKET:
      return arrayEnd(text, at, room, strict)
    case 0x74:
    case 0x66:
    case 0x6e:
      return literalEnd(text, at)
    default:
      return numberEnd(text, at)
  }
}

function objectEnd(text: Buffer, open: number, room: number, strict: boolean): number {
  if (room === 0) tooDeep(open)
  let at = skipSpace(text, open + 1)
  if (text[at] === CLOSE_BRACE) return at + 1
  for (;;) {
    at = valueStart(text, nameEnd(text, at, strict))
    at = skipSpace(text, valueEnd(text, at, room - 1, strict))
    if (text[at] === CLOSE_BRACE) return at + 1
    if (text[at] !== COMMA) unexpected(text, at, "',' or '}'")
    at = skipSpace(text, at + 1)
  }
}

function arrayEnd(text: Buffer, open: number, room: number, strict: boolean): number {
  if (room === 0) tooDeep(open)
  let at = skipSpace(text, open + 1)
  if (text[at] === CLOSE_BRACKET) return at + 1
  for (;;) {
    at = skipSpace(text, valueEnd(text, at, room - 1, strict))
    if (text[at] === CLOSE_BRACKET) return at + 1
    if (text[at] !== COMMA) unexpected(text, at, "',' or ']'")
    at = skipSpace(text, at + 1)
  }
}

/** The end of the member name that must begin at `at`. */
export function nameEnd(text: Buffer, at: number, strict: boolean): number {
  return text[at] === QUOTE ? stringEnd(text, at, strict) : unexpected(text, at, 'a member name')
}

/** Where the value of a member begins whose name ends at `at`. */
export function valueStart(text: Buffer, at: number): number {
  const colon = skipSpace(text, at)
  return text[colon] === COLON ? skipSpace(text, colon + 1) : unexpected(text, colon, "':'")
}

export function tooDeep(at: number): never {
  throw new ScanError('depth', at, 'nested too deep')
}
