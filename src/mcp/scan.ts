import { isUtf8 } from 'node:buffer'
import { createRegister, decode, occursTwice } from './names.ts'
import { ScanError, unexpected } from './scanError.ts'
import { type Names, type Plan, planOf, type Shape } from './shape.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  nameEnd,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  tooDeep,
  valueEnd,
  valueStart,
} from './tokens.ts'

export { ScanError, type ScanReason } from './scanError.ts'
export { each, oneOrEach, type Shape } from './shape.ts'

export type Kind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** One JSON value of a scanned text. `start` and `end` are byte offsets, `end` the first one after it. */
export interface Value {
  readonly kind: Kind
  readonly start: number
  readonly end: number
  /** Of an object that the shape reads: its owned members by unescaped name. */
  readonly members?: ReadonlyMap<string, Member> | undefined
  /** Of such an object: how many members it has in all. */
  readonly count?: number | undefined
  /** Of such an object: the names that the shape owns, present or not. */
  readonly owns?: ReadonlyMap<string, unknown> | undefined
  /** Of an array whose items the shape reads. */
  readonly items?: readonly Value[] | undefined
}

/** An owned member: from just after its `{` or `,` to its `,` or `}`, white space included. */
export interface Member {
  readonly index: number
  readonly from: number
  readonly to: number
  readonly value: Value
}

export interface ScanOptions {
  /** Levels of nesting that are allowed; default 64. */
  readonly maxDepth?: number
  /** Refuse names that equal an owned one but for case. */
  readonly foldCase?: boolean
  /** Check the inside of strings and that the text is UTF-8; else strings are only delimited. */
  readonly strict?: boolean
}

interface Settings {
  readonly foldCase: boolean
  readonly strict: boolean
}

/**
 * Reads one JSON text (RFC 8259) in one pass and notes where the members of `shape` are; everything else is
 * skipped, its structure checked. In objects that the shape reads, names are compared unescaped and none
 * may occur twice.
 * @throws ScanError
 */
export function scan(text: Buffer, shape: Shape, options: ScanOptions = {}): Value {
  const { maxDepth = 64, foldCase = false, strict = false } = options
  const root = read(text, skipSpace(text, 0), planOf(shape), maxDepth, { foldCase, strict })
  const end = skipSpace(text, root.end)
  if (end < text.length) unexpected(text, end, 'the end of the text')
  if (strict && !isUtf8(text)) throw new ScanError('syntax', invalidUtf8(text), 'bytes that are not UTF-8')
  return root
}

function read(text: Buffer, start: number, plan: Plan, room: number, settings: Settings): Value {
  const kind = kindAt(text, start)
  if (kind === 'object' && plan.names !== undefined)
    return readObject(text, start, plan.names, room, settings)
  if (kind === 'array' && plan.item !== undefined) return readArray(text, start, plan.item, room, settings)
  return { kind, start, end: valueEnd(text, start, room, settings.strict) }
}

function kindAt(text: Buffer, at: number): Kind {
  switch (text[at]) {
    case OPEN_BRACE:
      return 'object'
    case OPEN_BRACKET:
      return 'array'
    case QUOTE:
      return 'string'
    case 0x74:
    case 0x66:
      return 'boolean'
    case 0x6e:
      return 'null'
    default:
      return 'number'
  }
}

function readObject(text: Buffer, start: number, names: Names, room: number, settings: Settings): Value {
  if (room === 0) tooDeep(start)
  const register = createRegister(text, names, settings.foldCase)
  const members = new Map<string, Member>()
  let count = 0
  let from = start + 1
  let at = skipSpace(text, from)
  let name = -1
  let colon = -1
  try {
    while (count > 0 || text[at] !== CLOSE_BRACE) {
      colon = nameEnd(text, at, settings.strict)
      name = at
      const owned = register.find(name, colon)
      if (owned !== undefined && members.has(owned.name)) throw occursTwice(name)
      at = valueStart(text, colon)
      if (owned === undefined) {
        at = skipSpace(text, valueEnd(text, at, room - 1, settings.strict))
      } else {
        const value = read(text, at, owned.plan, room - 1, settings)
        at = skipSpace(text, value.end)
        members.set(owned.name, { index: count, from, to: at, value })
      }
      count++
      name = -1
      if (text[at] === CLOSE_BRACE) break
      if (text[at] !== COMMA) unexpected(text, at, "',' or '}'")
      from = at + 1
      at = skipSpace(text, from)
    }
  } catch (error) {
    if (error instanceof ScanError && name !== -1) error.inside(stepOf(text, name, colon))
    throw error
  }
  return { kind: 'object', start, end: at + 1, members, count, owns: names.byName }
}

function readArray(text: Buffer, start: number, item: Plan, room: number, settings: Settings): Value {
  if (room === 0) tooDeep(start)
  const items: Value[] = []
  let at = skipSpace(text, start + 1)
  if (text[at] === CLOSE_BRACKET) return { kind: 'array', start, end: at + 1, items }
  for (;;) {
    try {
      items.push(read(text, at, item, room - 1, settings))
    } catch (error) {
      if (error instanceof ScanError) error.inside(`[${items.length}]`)
      throw error
    }
    at = skipSpace(text, items[items.length - 1]?.end ?? at)
    if (text[at] === CLOSE_BRACKET) return { kind: 'array', start, end: at + 1, items }
    if (text[at] !== COMMA) unexpected(text, at, "',' or ']'")
    at = skipSpace(text, at + 1)
  }
}

/** A name as a step of a path; cut short, since it may be as long as the text. */
function stepOf(text: Buffer, start: number, end: number): string {
  const name =
    end - start > 80 ? `${text.toString('utf8', start + 1, start + 64)}…` : decode(text, start, end)
  return /^[\w$/.-]+$/.test(name) ? name : JSON.stringify(name)
}

/** Where the first byte is that a decoder would replace. */
function invalidUtf8(text: Buffer): number {
  const replaced = Buffer.from(text.toString('utf8', 0, text.length))
  return text.findIndex((byte, at) => byte !== replaced[at])
}

/** The value at the end of a path of owned members, if it is there. */
export function at(value: Value | undefined, ...path: string[]): Value | undefined {
  let found = value
  for (const name of path) found = found?.members?.get(name)?.value
  return found
}

/** The bytes of `value` as they were written; a view, not a copy. */
export function textOf(text: Buffer, value: Value): Buffer {
  return text.subarray(value.start, value.end)
}

/**
 * The decoded string, or undefined if `value` is none.
 * @throws ScanError 'syntax' for an illegal escape or a raw control character in it (of a text not scanned `strict`)
 */
export function stringOf(text: Buffer, value: Value | undefined): string | undefined {
  return value?.kind === 'string' ? decode(text, value.start, value.end) : undefined
}

/**
 * The value in memory; numbers lose what a double cannot hold.
 * @throws ScanError 'syntax', as `stringOf`
 */
export function parsed(text: Buffer, value: Value): unknown {
  try {
    return JSON.parse(text.toString('utf8', value.start, value.end))
  } catch {
    throw new ScanError('syntax', value.start, 'an illegal escape or character in a string')
  }
}
