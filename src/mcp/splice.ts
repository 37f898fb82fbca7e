import type { Member, Value } from './scan.ts'

/** An edit of the text: the bytes from `start` to `end` give way to `bytes`. */
interface Cut {
  readonly start: number
  readonly end: number
  readonly bytes: Buffer | undefined
}

interface ObjectEdits {
  readonly removed: Set<string>
  readonly appended: Map<string, Buffer>
}

export type Splice = ReturnType<typeof createSplice>

/**
 * Collects edits against a scanned text and applies them in one go; every byte outside the edited members
 * stays as it was. The last edit of one value wins; edits inside a value that is itself replaced or removed
 * go with it. `remove` and `set` need an object that was scanned with a shape that owns the name (a
 * TypeError otherwise), since of other names nobody knows whether they are there.
 */
export function createSplice(text: Buffer) {
  const replaced = new Map<number, Cut>()
  const objects = new Map<Value, ObjectEdits>()

  /** Puts `bytes` in the place of `value`. */
  function replace(value: Value, bytes: Buffer | string): void {
    replaced.set(value.start, { start: value.start, end: value.end, bytes: bufferOf(bytes) })
  }

  /** Takes the member `name` out of `object`, if it is there. */
  function remove(object: Value, name: string): void {
    const { removed, appended } = editsOf(object, name)
    if (object.members?.has(name)) removed.add(name)
    else appended.delete(name)
  }

  /** Gives the member `name` of `object` the value `bytes`; a new member comes last. */
  function set(object: Value, name: string, bytes: Buffer | string): void {
    const { removed, appended } = editsOf(object, name)
    const member = object.members?.get(name)
    if (member === undefined) {
      appended.set(name, bufferOf(bytes))
      return
    }
    removed.delete(name)
    replace(member.value, bytes)
  }

  function editsOf(object: Value, name: string): ObjectEdits {
    if (!object.owns?.has(name)) throw new TypeError(`the shape of this object does not own '${name}'`)
    let edits = objects.get(object)
    if (edits === undefined) {
      edits = { removed: new Set(), appended: new Map() }
      objects.set(object, edits)
    }
    return edits
  }

  /** The edited text in pieces to be joined: views of the text and the new bytes, nothing copied. */
  function parts(): Buffer[] {
    const cuts = [...replaced.values()]
    for (const [object, edits] of objects) cuts.push(...cutsOf(object, edits))
    cuts.sort((a, b) => a.start - b.start)
    const pieces: Buffer[] = []
    let at = 0
    for (const { start, end, bytes } of cuts) {
      if (start < at) continue
      if (start > at) pieces.push(text.subarray(at, start))
      if (bytes !== undefined) pieces.push(bytes)
      at = end
    }
    if (at < text.length) pieces.push(text.subarray(at))
    return pieces
  }

  /** The edited text as one fresh Buffer. */
  function bytes(): Buffer {
    return Buffer.concat(parts())
  }

  return { replace, remove, set, parts, bytes }
}

function cutsOf(object: Value, { removed, appended }: ObjectEdits): Cut[] {
  const cuts: Cut[] = []
  const count = object.count ?? 0
  const gone = [...removed].flatMap((name) => object.members?.get(name) ?? []).sort(byIndex)
  gone.forEach(({ index, from, to }, before) => {
    // A comma goes with each member: the one before it, or the one after it while nothing kept stands before.
    if (index > before) cuts.push({ start: from - 1, end: to, bytes: undefined })
    else cuts.push({ start: from, end: index < count - 1 ? to + 1 : to, bytes: undefined })
  })
  const added: Buffer[] = []
  for (const [name, bytes] of appended) {
    const comma = count > gone.length || added.length > 0 ? ',' : ''
    added.push(Buffer.from(`${comma}${JSON.stringify(name)}:`), bytes)
  }
  const close = object.end - 1
  if (added.length > 0) cuts.push({ start: close, end: close, bytes: Buffer.concat(added) })
  return cuts
}

function byIndex(a: Member, b: Member): number {
  return a.index - b.index
}

function bufferOf(bytes: Buffer | string): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes
}

/** What stands before `value` and what after it; views, not copies. */
export function splitAt(text: Buffer, value: Value): [Buffer, Buffer] {
  return [text.subarray(0, value.start), text.subarray(value.end)]
}
