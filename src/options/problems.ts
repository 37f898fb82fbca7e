import type { z } from 'zod'
import type { WhereIs } from './load.ts'

type Issue = z.core.$ZodIssue

const MAX_SHOWN = 60
/** Never shown: what stands there is a secret, or may be. */
const SECRET = /^(requestState\.keys|routes\.\d+\.upstream\.(headers|url)|cluster\.redis)/

/** A line per problem: the option, what was found, what is allowed, and where. */
export function problemsOf(issues: readonly Issue[], tree: unknown, whereIs: WhereIs): string[] {
  return issues.flatMap(issue => linesOf(issue, tree, whereIs))
}

function linesOf(issue: Issue, tree: unknown, whereIs: WhereIs): string[] {
  const path = issue.path.map(String).join('.')
  const where = whereIs(issue.path)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(key => `${path === '' ? '' : `${path}.`}${key}: there is no such option${where}`)
  }
  const found = valueAt(tree, issue.path)
  const shown = SECRET.test(path) || found === undefined ? '' : `, not ${JSON.stringify(found)?.slice(0, MAX_SHOWN)}`
  return [`${path || 'options'}: ${allowed(issue)}${shown}${where}`]
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${issue.expected === 'int' ? 'an integer' : `of type ${issue.expected}`}`
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`
    case 'too_small':
      return issue.origin === 'array' ? `must have at least ${issue.minimum} item` : `must be at least ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    case 'invalid_union': {
      const inner = issue.errors.flat().find(each => each.code === 'custom')
      return inner?.message ?? issue.message
    }
    default:
      return issue.message
  }
}

function valueAt(tree: unknown, path: readonly PropertyKey[]): unknown {
  let at = tree
  for (const name of path) {
    if (typeof at !== 'object' || at === null) return undefined
    at = Reflect.get(at, name)
  }
  return at
}
