import { ScanError } from './scanError.ts'
import { fold, type Names, type Owned } from './shape.ts'
import { BACKSLASH } from './tokens.ts'

/** Up to here names are compared pair by pair, which beats a set; beyond, that would be quadratic. */
const FEW = 16

/**
 * The decoded string that stands between the quotes at `start` and `end`, both included.
 * @throws ScanError 'syntax' for an illegal escape or a raw control character in it
 */
export function decode(text: Buffer, start: number, end: number): string {
  if (isPlain(text, start + 1, end - 1)) return text.toString('latin1', start + 1, end - 1)
  try {
    return JSON.parse(text.toString('utf8', start, end)) as string
  } catch {
    throw new ScanError('syntax', start, 'an illegal escape or character in a string')
  }
}

/** Whether all is printable ASCII without a backslash, so that bytes and characters are the same. */
function isPlain(text: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = text[at] as number
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return false
  }
  return true
}

/**
 * Tells the members of one object apart: finds the owned ones and refuses a name that occurs twice, owned
 * or not, or (`foldCase`) that equals an owned one but for case.
 */
export function createRegister(text: Buffer, names: Names, foldCase: boolean) {
  const spans: number[] = []
  let set: Set<string> | undefined

  /** The owned name that is written between the quotes at `start` and `end`, if it is one. */
  function find(start: number, end: number): Owned | undefined {
    if (names.ascii && isPlain(text, start + 1, end - 1)) {
      const owned = findPlain(start + 1, end - 1)
      if (owned === undefined) addPlain(start, end)
      return owned
    }
    const name = decode(text, start, end)
    const owned = names.byName.get(name)
    if (owned !== undefined) return owned
    const twin = foldCase ? names.byFold.get(fold(name)) : undefined
    if (twin !== undefined) throw differsInCase(start, twin)
    set ??= spill()
    add(set, name, start)
    return undefined
  }

  function findPlain(start: number, end: number): Owned | undefined {
    const candidates = names.byBytes[end - start]
    if (candidates === undefined) return undefined
    for (const owned of candidates) {
      const likeness = compare(text, start, owned.bytes, 0, end - start, foldCase)
      if (likeness === 'same') return owned
      if (likeness === 'case') throw differsInCase(start - 1, owned.name)
    }
    return undefined
  }

  function addPlain(start: number, end: number): void {
    if (set === undefined && spans.length === 2 * FEW) set = spill()
    if (set !== undefined) {
      add(set, text.toString('latin1', start + 1, end - 1), start)
      return
    }
    for (let i = 0; i < spans.length; i += 2) {
      const other = spans[i] as number
      if ((spans[i + 1] as number) - other !== end - start) continue
      if (compare(text, start, text, other, end - start, false) === 'same') throw occursTwice(start)
    }
    spans.push(start, end)
  }

  function spill(): Set<string> {
    const seen = new Set<string>()
    for (let i = 0; i < spans.length; i += 2) {
      seen.add(text.toString('latin1', (spans[i] as number) + 1, (spans[i + 1] as number) - 1))
    }
    return seen
  }

  return { find }
}

function add(set: Set<string>, name: string, start: number): void {
  const before = set.size
  if (set.add(name).size === before) throw occursTwice(start)
}

type Likeness = 'same' | 'case' | 'other'

function compare(a: Buffer, from: number, b: Buffer, at: number, bytes: number, foldCase: boolean): Likeness {
  let likeness: Likeness = 'same'
  for (let i = 0; i < bytes; i++) {
    const left = a[from + i] as number
    const right = b[at + i] as number
    if (left === right) continue
    const letter = left | 0x20
    if (!foldCase || letter !== (right | 0x20) || letter < 0x61 || letter > 0x7a) return 'other'
    likeness = 'case'
  }
  return likeness
}

export function occursTwice(offset: number): ScanError {
  return new ScanError('duplicate', offset, 'the member occurs twice')
}

function differsInCase(offset: number, name: string): ScanError {
  return new ScanError('case', offset, `the member's name differs from '${name}' only in case`)
}
