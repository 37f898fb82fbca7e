import { isRecord } from './isRecord.ts'
import { parsed, ScanError, type Shape, textOf, type Value } from './scan.ts'
import type { ObjectShape } from './shape.ts'

/** A parameter that its tool wants mirrored into a header. */
export interface MirroredParam {
  /** The header as the tool spells it, for messages. */
  readonly header: string
  /** The names of the properties on the way to it. */
  readonly path: readonly string[]
}

/** What a tool wants mirrored, and how to find it in the arguments of a call. */
export interface MirroredParams {
  readonly params: readonly MirroredParam[]
  readonly shape: Shape
}

const ANNOTATION = 'x-mcp-header'

/** Whether a text can have an annotation at all: spelled plainly, or with an escape somewhere. */
export function mayAnnotate(text: Buffer): boolean {
  return text.includes(ANNOTATION) || text.includes('\\u')
}

/** Levels of subschemas, and subschemas in all, that are looked at (M-BASE-22). */
const MAX_DEPTH = 16
const MAX_SCHEMAS = 10_000
/** More headers than this no request may have. */
const MAX_PARAMS = 128

/** A field name (RFC 9110 §5.1). */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/
const TYPES: readonly unknown[] = ['integer', 'string', 'boolean']
/** Dialects in which `properties` means what it means in 2020-12 (M-BASE-21). */
const DIALECT = /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/2019-09|draft\/2020-12)\/schema#?$/

/** Keywords whose value is a schema or an array of schemas. */
const SUBSCHEMAS = [
  'items',
  'additionalItems',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'contentSchema',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
]
/** Keywords whose value has schemas as members. */
const NAMED_SUBSCHEMAS = ['patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions']

/**
 * What a tool wants mirrored, by its `inputSchema` (streamable-http §Schema Extension). An annotation that
 * breaks a rule makes the definition one that clients drop, so nothing is mirrored for it, nor for a schema of
 * an unknown dialect or beyond the limits (M-HDR-08, M-BASE-21, M-BASE-22). References are not followed.
 */
export function mirroredParams(text: Buffer, schema: Value): MirroredParams | undefined {
  if (schema.kind !== 'object' || !mayAnnotate(textOf(text, schema))) return undefined
  const root = read(text, schema)
  if (!isRecord(root) || ('$schema' in root && !DIALECT.test(String(root.$schema)))) return undefined
  const params: MirroredParam[] = []
  const names = new Set<string>()
  let left = MAX_SCHEMAS

  /** False if the definition is invalid; `path` is undefined where no chain of `properties` leads. */
  function walk(node: unknown, path: readonly string[] | undefined, depth: number): boolean {
    if (!isRecord(node)) return true
    left -= 1
    if (depth > MAX_DEPTH || left < 0) return false
    if (Object.hasOwn(node, ANNOTATION) && !annotate(node, path)) return false
    if (isRecord(node.properties)) {
      for (const [name, property] of Object.entries(node.properties)) {
        if (!walk(property, path && [...path, name], depth + 1)) return false
      }
    }
    return elsewhere(node).every((each) => walk(each, undefined, depth + 1))
  }

  function annotate(node: Record<string, unknown>, path: readonly string[] | undefined): boolean {
    const name = node[ANNOTATION]
    if (path === undefined || path.length === 0 || params.length === MAX_PARAMS) return false
    if (typeof name !== 'string' || !TOKEN.test(name) || !TYPES.includes(node.type)) return false
    const folded = name.toLowerCase()
    if (names.has(folded)) return false
    names.add(folded)
    params.push({ header: `Mcp-Param-${name}`, path })
    return true
  }

  if (!walk(root, [], 0) || params.length === 0) return undefined
  return { params, shape: shapeOf(params) }
}

/** The schema in memory; one that no parser reads wants nothing. */
function read(text: Buffer, schema: Value): unknown {
  try {
    return parsed(text, schema)
  } catch (error) {
    if (error instanceof ScanError) return undefined
    throw error
  }
}

/** The subschemas that no chain of `properties` leads to. */
function elsewhere(node: Record<string, unknown>): unknown[] {
  const plainly = SUBSCHEMAS.flatMap((keyword) => node[keyword] ?? [])
  const named = NAMED_SUBSCHEMAS.flatMap((keyword) => Object.values(Object(node[keyword])))
  return [...plainly, ...named]
}

/** Reads the arguments along the paths, so that no member on the way may occur twice. */
function shapeOf(params: readonly MirroredParam[]): ObjectShape {
  const root: Growing = Object.create(null)
  for (const { path } of params) {
    let level = root
    for (const name of path.slice(0, -1)) {
      const known = level[name]
      const below: Growing = known === undefined || known === true ? Object.create(null) : known
      level[name] = below
      level = below
    }
    const last = path.at(-1) ?? ''
    level[last] ??= true
  }
  return root
}

interface Growing {
  [name: string]: Growing | true
}
