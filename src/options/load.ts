import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { applyFlags, type Flags } from './flags.ts'
import { problemsOf } from './problems.ts'
import { crossCheck } from './crossCheck.ts'
import { type Options, optionsSchema } from './schema.ts'

export interface Sources {
  /** Path of a YAML file. */
  readonly file?: string | undefined
  readonly env: NodeJS.ProcessEnv
  readonly flags: Flags
}

/** The options are wrong: one line per problem, which names the option, what was found and what is allowed. */
export class OptionsError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'OptionsError'
    this.problems = problems
  }
}

/**
 * The options of the file, under those of the environment, under those of the command line; complete with
 * defaults, checked, and frozen.
 *
 * @throws OptionsError
 */
export function loadOptions({ file, env, flags }: Sources): Options {
  const { tree, whereIs } = file === undefined ? { tree: {}, whereIs: () => '' } : read(file)
  const problems = [...applyEnvironment(tree, env), ...applyFlags(tree, flags)]
  if (problems.length > 0) throw new OptionsError(problems)
  const parsed = optionsSchema.safeParse(tree)
  if (!parsed.success) throw new OptionsError(problemsOf(parsed.error.issues, tree, whereIs))
  const options = parsed.data
  const contradictions = crossCheck(options, tree, whereIs)
  if (contradictions.length > 0) throw new OptionsError(contradictions)
  return freeze(options)
}

type Tree = Record<string, unknown>
export type WhereIs = (path: readonly PropertyKey[]) => string

function read(file: string): { tree: Tree; whereIs: WhereIs } {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new OptionsError([`${file}: cannot be read (${error instanceof Error ? error.message : error})`])
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  if (document.errors.length > 0) {
    throw new OptionsError(document.errors.map(each => `${file}:${each.linePos?.[0].line ?? 1}: ${each.message.split('\n')[0]}`))
  }
  const tree: unknown = document.toJS() ?? {}
  if (!isTree(tree)) throw new OptionsError([`${file}: must be a mapping of options`])
  return {
    tree,
    whereIs(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true)
        if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
          return ` (${file}:${lines.linePos(Number(node.range[0])).line})`
        }
      }
      return ` (${file})`
    },
  }
}

/** Keys come from the environment so that they stand in no file and no process list. */
function applyEnvironment(tree: Tree, env: NodeJS.ProcessEnv): string[] {
  const keys = env.MRTR_PROXY_KEYS?.split(/[\s,]+/).filter(key => key !== '')
  if (keys === undefined || keys.length === 0) return []
  const section = tree.requestState ?? {}
  if (!isTree(section)) return ['requestState: must be a mapping']
  tree.requestState = { ...section, keys }
  return []
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    for (const each of Object.values(value)) freeze(each)
  }
  return value
}
