import { readFileSync } from 'node:fs'
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { isTree, type Tree } from './tree.ts'

export type Path = readonly PropertyKey[]
/** Where an option was set, for the end of a line: ` (proxy.yaml:7)`, ` (--set)`, or nothing. */
export type WhereIs = (path: Path) => string

/** The tree that the sources of options are laid over one another in, and who set what. */
export interface Source {
  readonly tree: Tree
  readonly whereIs: WhereIs
  /** Notes that what is at `path`, with all below it, was set by `who`. */
  setBy(path: Path, who: string): void
}

/** Reads a YAML file; without one, an empty source. Throws problems, one a line. */
export function readSource(file: string | undefined): Source | { readonly problems: readonly string[] } {
  if (file === undefined) return sourceOf({}, () => '')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    return { problems: [`${file}: cannot be read (${code})`] }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (document.errors.length > 0) {
    // The parser's messages may quote the text, and the text may hold keys.
    return {
      problems: document.errors.map(
        ({ pos, code }) => `${file}:${lines.linePos(pos[0]).line}: ${faultOf(code)}`,
      ),
    }
  }
  let tree: unknown
  try {
    tree = document.toJS() ?? {}
  } catch {
    return { problems: [`${file}: an alias has no anchor, or there are too many`] }
  }
  if (!isTree(tree)) return { problems: [`${file}: must be a section of options`] }
  return sourceOf(tree, (path) => {
    const offset = offsetOf(document.contents, path)
    return offset === undefined ? ` (${file})` : ` (${file}:${lines.linePos(offset).line})`
  })
}

function sourceOf(tree: Tree, inFile: WhereIs): Source {
  const setters = new Map<string, string>()
  return {
    tree,
    setBy: (path, who) => void setters.set(path.join('.'), who),
    whereIs(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const who = setters.get(path.slice(0, length).join('.'))
        if (who !== undefined) return ` (${who})`
      }
      return inFile(path)
    },
  }
}

/** Where the deepest part of `path` that is written begins; a named part begins at its name. */
function offsetOf(root: unknown, path: Path): number | undefined {
  let at = root
  let offset: number | undefined
  for (const name of path) {
    if (isMap(at)) {
      const pair = at.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
      if (pair === undefined) break
      offset = isNode(pair.key) ? pair.key.range?.[0] : offset
      at = pair.value
    } else if (isSeq(at)) {
      at = at.items[Number(name)]
      if (!isNode(at)) break
      offset = at.range?.[0] ?? offset
    } else break
  }
  return offset
}

function faultOf(code: string): string {
  return code === 'DUPLICATE_KEY'
    ? 'the same option twice'
    : `not YAML (${code.toLowerCase().replaceAll('_', ' ')})`
}
