/**
 * What a reader wants to know of a value: `true`, where it is; an object of shapes, the members of these
 * names too if it is an object; `each`, its items if it is an array. A value of another kind than its shape
 * is only noted: checking kinds is the reader's.
 *
 * Compiled once and remembered by identity, so keep shapes in constants. For names that come from outside
 * use an object without prototype, which takes `__proto__` as a name.
 */
export type Shape = true | ObjectShape | ArrayShape

export interface ObjectShape {
  readonly [name: string]: Shape
}

export class ArrayShape {
  readonly item: Shape
  readonly orOne: boolean

  constructor(item: Shape, orOne: boolean) {
    this.item = item
    this.orOne = orOne
  }
}

/** An array whose items are read by `item`. */
export function each(item: Shape): ArrayShape {
  return new ArrayShape(item, false)
}

/** Either one value that is read by `item`, or an array of such values (a JSON-RPC batch). */
export function oneOrEach(item: Shape): ArrayShape {
  return new ArrayShape(item, true)
}

/** A shape made ready for reading: what to do with an object, and what with the items of an array. */
export interface Plan {
  readonly names: Names | undefined
  readonly item: Plan | undefined
}

export interface Owned {
  readonly name: string
  readonly bytes: Buffer
  readonly plan: Plan
}

export interface Names {
  readonly byName: ReadonlyMap<string, Owned>
  readonly byBytes: readonly (readonly Owned[] | undefined)[]
  readonly byFold: ReadonlyMap<string, string>
  /** All names are ASCII, so that an ASCII name can be compared byte by byte. */
  readonly ascii: boolean
}

const plans = new WeakMap<object, Plan>()
const note: Plan = { names: undefined, item: undefined }

export function planOf(shape: Shape): Plan {
  if (shape === true) return note
  let plan = plans.get(shape)
  if (plan === undefined) {
    plan = compile(shape)
    plans.set(shape, plan)
  }
  return plan
}

function compile(shape: ObjectShape | ArrayShape): Plan {
  if (shape instanceof ArrayShape) {
    const item = planOf(shape.item)
    return { names: shape.orOne ? item.names : undefined, item }
  }
  const byName = new Map<string, Owned>()
  const byBytes: Owned[][] = []
  const byFold = new Map<string, string>()
  let ascii = true
  for (const name of Object.keys(shape)) {
    const owned = { name, bytes: Buffer.from(name), plan: planOf(shape[name] ?? true) }
    byName.set(name, owned)
    byFold.set(fold(name), name)
    for (let bytes = byBytes.length; bytes <= owned.bytes.length; bytes++) byBytes.push([])
    byBytes[owned.bytes.length]?.push(owned)
    ascii &&= owned.bytes.every((byte) => byte < 0x80)
  }
  return { names: { byName, byBytes, byFold, ascii }, item: undefined }
}

/**
 * A form that is the same for all names that some server might take for one: simple folding (`ſ` is `s`,
 * the Kelvin sign `k`) and what some platforms add (dotted and dotless `i`, `ß` as `ss`).
 */
export function fold(name: string): string {
  return name.toUpperCase().replaceAll('\u0130', 'I').toLowerCase()
}
