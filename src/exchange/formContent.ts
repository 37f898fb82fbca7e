import { isRecord } from '../mcp/isRecord.ts'
/** What is wrong with a form's content: where, and what is allowed there. */
export interface ContentFault {
  readonly path: string
  readonly wanted: string
}

type Members = Readonly<Record<string, unknown>>

/** A form of more fields than this is not checked: the work for one answer stays bounded (M-BASE-22). */
const MAX_FIELDS = 256

/** The fields of a form by name; undefined if it has too many, or is no schema of the flat kind. */
export function fieldsOf(schema: unknown): Members | undefined {
  const properties = isRecord(schema) ? schema.properties : undefined
  return isRecord(properties) && Object.keys(properties).length <= MAX_FIELDS ? properties : undefined
}

/**
 * Checks what a person filled in against the form's `requestedSchema`: the flat subset of JSON Schema that
 * elicitation allows (X-SRQ-09). Fields beyond the schema are let through, and so is every keyword that is
 * not of the subset. `lists`: the revision knows lists of strings as values.
 *
 * `pattern` is left to the upstream: it is a foreign program, to be run on foreign input.
 */
export function contentFault(schema: unknown, content: unknown, lists: boolean): ContentFault | undefined {
  if (!isRecord(content)) return { path: '', wanted: 'must be an object' }
  for (const [name, value] of Object.entries(content)) {
    if (!isFieldValue(value, lists)) {
      const kinds = lists ? 'string, number, boolean or list of strings' : 'string, number or boolean'
      return fault(name, `must be a ${kinds}`)
    }
  }
  const fields = fieldsOf(schema)
  if (fields === undefined || !isRecord(schema)) return undefined
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name === 'string' && !Object.hasOwn(content, name)) return fault(name, 'is required')
  }
  for (const [name, field] of Object.entries(fields)) {
    if (!Object.hasOwn(content, name) || !isRecord(field)) continue
    const wanted = fieldFault(field, content[name])
    if (wanted !== undefined) return fault(name, wanted)
  }
  return undefined
}

function fault(name: string, wanted: string): ContentFault {
  return { path: `[${JSON.stringify(name.slice(0, 64))}]`, wanted }
}

function isFieldValue(value: unknown, lists: boolean): boolean {
  if (Array.isArray(value)) return lists && value.every((item) => typeof item === 'string')
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function fieldFault(field: Members, value: unknown): string | undefined {
  switch (field.type) {
    case 'string':
      return typeof value === 'string'
        ? (choiceFault(field, value) ?? stringFault(field, value))
        : 'must be a string'
    case 'integer':
      return Number.isInteger(value) ? rangeFault(field, value, 'be') : 'must be an integer'
    case 'number':
      return typeof value === 'number' ? rangeFault(field, value, 'be') : 'must be a number'
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be a boolean'
    case 'array':
      return Array.isArray(value) ? listFault(field, value) : 'must be a list of strings'
    default:
      return choiceFault(field, value)
  }
}

function listFault(field: Members, items: readonly unknown[]): string | undefined {
  const { minItems, maxItems } = field
  return (
    rangeFault({ minimum: minItems, maximum: maxItems }, items.length, 'have a number of entries') ??
    (isRecord(field.items) ? allowedFault(choicesOf(field.items), items) : undefined)
  )
}

function choiceFault(field: Members, value: unknown): string | undefined {
  return allowedFault(choicesOf(field), [value])
}

/** Enums with or without titles: `enum`, and `oneOf` or `anyOf` of `const`. */
function choicesOf(field: Members): ReadonlySet<unknown> | undefined {
  const listed = [field.enum, field.oneOf, field.anyOf].find((choices) => Array.isArray(choices))
  if (!Array.isArray(listed)) return undefined
  if (listed === field.enum) return new Set(listed)
  const titled = listed.every((choice) => isRecord(choice) && Object.hasOwn(choice, 'const'))
  return titled ? new Set(listed.map((choice) => choice.const)) : undefined
}

function allowedFault(
  allowed: ReadonlySet<unknown> | undefined,
  values: readonly unknown[],
): string | undefined {
  if (allowed === undefined || values.every((value) => allowed.has(value))) return undefined
  const some = JSON.stringify([...allowed].slice(0, 16)).slice(0, 256)
  return allowed.size > 16 ? `must be one of ${allowed.size} choices` : `must be one of ${some}`
}

function stringFault({ minLength, maxLength, format }: Members, value: string): string | undefined {
  const range = { minimum: minLength, maximum: maxLength }
  const limited = typeof minLength === 'number' || typeof maxLength === 'number'
  const length = limited ? lengthOf(value) : 0
  const outside = limited ? rangeFault(range, length, 'have a length') : undefined
  if (outside !== undefined) return outside
  const fits = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined
  return fits === undefined || fits(value) ? undefined : `must be in the format ${JSON.stringify(format)}`
}

/** Code points, as JSON Schema counts. */
function lengthOf(value: string): number {
  let length = 0
  for (const _ of value) length++
  return length
}

function rangeFault({ minimum, maximum }: Members, value: unknown, must: string): string | undefined {
  if (typeof value !== 'number') return undefined
  if (typeof minimum === 'number' && value < minimum) return `must ${must} of at least ${minimum}`
  if (typeof maximum === 'number' && value > maximum) return `must ${must} of at most ${maximum}`
  return undefined
}

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Generous where implementations differ: what passes here and not there is the upstream's to refuse. */
const formats: Readonly<Record<string, (value: string) => boolean>> = {
  email: (value) => /^[^\s@]+@[^\s@]+$/.test(value),
  uri: (value) => !/\s/.test(value) && URL.canParse(value),
  date: isDate,
  'date-time': (value) => isDate(DATE_TIME.exec(value)?.[1] ?? ''),
}

function isDate(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return false
  const day = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value)
}
