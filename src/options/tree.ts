/** Options as they were written, before anything is known of them. */
export type Tree = Record<string, unknown>

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  let at = tree
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = Reflect.get(at, name)
  }
  return at
}
