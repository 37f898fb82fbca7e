import type { z } from 'zod'
import type { WhereIs } from './source.ts'
import { valueAt } from './tree.ts'

type Issue = z.core.$ZodIssue

const MAX_SHOWN = 60
/** Never shown: what stands there, or was meant to stand under it, is a secret or may be. */
const SECRET =
  /^(requestState(\..*)?|routes\.\d+\.upstream(\.headers(\..*)?)?|routes\.\d+|routes|cluster(\.redis)?|options)$/

/** A line per problem: the option, what is allowed, what was found, and where. */
export function problemsOf(issues: readonly Issue[], tree: unknown, whereIs: WhereIs): string[] {
  return issues.flatMap((issue) => linesOf(issue, tree, whereIs))
}

function linesOf(issue: Issue, tree: unknown, whereIs: WhereIs): string[] {
  const path = issue.path.map(String).join('.') || 'options'
  if (issue.code === 'unrecognized_keys') {
    const parent = issue.path.length === 0 ? '' : `${path}.`
    return issue.keys.map((key) => `${parent}${key}: there is no such option${whereIs([...issue.path, key])}`)
  }
  return [`${path}: ${allowed(issue)}${found(path, valueAt(tree, issue.path))}${whereIs(issue.path)}`]
}

function found(path: string, value: unknown): string {
  if (value === undefined || SECRET.test(path)) return ''
  if (Array.isArray(value)) return ', not a list'
  if (typeof value === 'object' && value !== null) return ', not a section'
  const shown = JSON.stringify(value)
  // A URL may carry a password before its host, or a token in its query.
  if (/[@?]/.test(shown) && /url$/i.test(path)) return ''
  return `, not ${shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown}`
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? `must be a ${issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`
    case 'too_small':
      if (issue.origin === 'array') return `must have at least ${issue.minimum} item`
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    case 'invalid_union':
      return 'must be a text or a number'
    default:
      return issue.message
  }
}

const TYPES: Partial<Record<string, string>> = {
  int: 'must be an integer',
  number: 'must be a number',
  string: 'must be a text',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be a section with options of its own',
  record: 'must be a section of names and values',
}
