import { crossCheck } from './crossCheck.ts'
import { applyFlags, type Flags } from './flags.ts'
import { problemsOf } from './problems.ts'
import { type Options, optionsSchema } from './schema.ts'
import { readSource, type Source } from './source.ts'
import { isTree } from './tree.ts'

export interface Sources {
  /** Path of a YAML file. */
  readonly file?: string | undefined
  /** None unless given: a program that embeds the gateway says what it wants read. */
  readonly env?: NodeJS.ProcessEnv | undefined
  readonly flags?: Flags | undefined
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
export function loadOptions({ file, env = {}, flags = {} }: Sources = {}): Options {
  const source = readSource(file)
  if ('problems' in source) throw new OptionsError(source.problems)
  stopAt([...applyEnvironment(source, env), ...applyFlags(source, flags)])
  const { tree, whereIs } = source
  const parsed = optionsSchema.safeParse(tree)
  if (!parsed.success) throw new OptionsError(problemsOf(parsed.error.issues, tree, whereIs))
  const options = parsed.data
  stopAt(crossCheck(options, tree, whereIs))
  return freeze(options)
}

function stopAt(problems: readonly string[]): void {
  if (problems.length > 0) throw new OptionsError(problems)
}

/** Keys come from the environment so that they stand in no file and no process list; they take a file's place. */
function applyEnvironment({ tree, setBy }: Source, env: NodeJS.ProcessEnv): string[] {
  const keys = env.MRTR_PROXY_KEYS?.split(/[\s,]+/).filter((key) => key !== '')
  if (keys === undefined || keys.length === 0) return []
  const section = tree.requestState ?? {}
  if (!isTree(section)) return ['requestState: must be a section with options of its own']
  tree.requestState = { ...section, keys, keysFile: null }
  setBy(['requestState', 'keys'], 'MRTR_PROXY_KEYS')
  return []
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    for (const each of Object.values(value)) freeze(each)
  }
  return value
}
