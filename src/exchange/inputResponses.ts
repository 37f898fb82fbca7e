import { GatewayError } from '../errors.ts'
import type { Question, QuestionKind } from '../mcp/question.ts'
import { type Knows, knows } from '../mcp/revision.ts'
import {
  at,
  each,
  oneOrEach,
  parsed,
  ScanError,
  type Shape,
  scan,
  stringOf,
  textOf,
  type Value,
} from '../mcp/scan.ts'
import { createSplice, type Splice } from '../mcp/splice.ts'
import { contentFault, fieldsOf } from './formContent.ts'

/** An answer that is being read, and the edits it takes. */
interface Reading {
  readonly text: Buffer
  readonly root: Value
  readonly splice: Splice
  readonly question: Question
  readonly known: Knows
  /** Why the answer is refused: `path` below the key, and what is allowed there. */
  refusal(path: string, wanted: string): GatewayError
}

/**
 * Turns the entry that a client gave under `key` into the `result` to send upstream, byte for byte but for
 * what the upstream's revision does not know (X-ANS-02 … 06). `entry` lies in a body that passed the door.
 *
 * SDK servers take one answer and no second, so what they would refuse is refused here, where the person can
 * still correct it; messages name the member and what is allowed, never what was given.
 * @throws GatewayError 'invalid_input_response' with `data.key`
 */
export function checkInputResponse(key: string, question: Question, entry: Buffer, revision: string): Buffer {
  function refusal(path: string, wanted: string): GatewayError {
    const message = `inputResponses[${JSON.stringify(key)}]${path}: ${wanted}`
    return new GatewayError('invalid_input_response', message, { data: { key } })
  }
  let root: Value
  try {
    root = scan(entry, shapeFor(question))
  } catch (error) {
    if (!(error instanceof ScanError)) throw error
    throw refusal('', error.reason === 'duplicate' ? 'a member occurs twice' : 'is not readable')
  }
  if (root.kind !== 'object') throw refusal('', 'must be an object')
  const splice = createSplice(entry)
  splice.remove(root, 'resultType')
  check[question.kind]({ text: entry, root, splice, question, known: knows(revision), refusal })
  return splice.bytes()
}

/**
 * What is due to a question that nobody answered (X-ANS-07), as the member of a JSON-RPC response: `"result":…`
 * or `"error":…`.
 */
export function abandonedAnswer(kind: QuestionKind): Buffer {
  return Buffer.from(abandoned[kind])
}

const abandoned: Readonly<Record<QuestionKind, string>> = {
  elicitation: '"result":{"action":"cancel"}',
  // The code of a user's refusal, the only one that samplers know (L-SAM-02).
  sampling: '"error":{"code":-1,"message":"nobody answered the sampling request"}',
  roots: '"error":{"code":-32603,"message":"nobody answered with roots"}',
}

const samplingShape = {
  resultType: true,
  role: true,
  model: true,
  content: oneOrEach({
    type: true,
    text: true,
    data: true,
    mimeType: true,
    id: true,
    name: true,
    toolUseId: true,
  }),
} as const satisfies Shape

const rootsShape = { resultType: true, roots: each({ uri: true, name: true }) } as const satisfies Shape

/** The fields of a form are read by name too: one that occurs twice would be checked in one value and used in the other. */
function shapeFor(question: Question): Shape {
  if (question.kind === 'sampling') return samplingShape
  if (question.kind === 'roots') return rootsShape
  const fields: Record<string, Shape> = Object.create(null)
  for (const name of Object.keys(fieldsOf(question.requestedSchema) ?? {})) fields[name] = true
  return { resultType: true, action: true, content: fields }
}

const check: Readonly<Record<QuestionKind, (reading: Reading) => void>> = {
  elicitation: checkElicitation,
  sampling: checkSampling,
  roots: checkRoots,
}

/** X-ANS-03. */
function checkElicitation({ text, root, splice, question, known, refusal }: Reading): void {
  const action = stringOf(text, at(root, 'action'))
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
    throw refusal('.action', 'must be "accept", "decline" or "cancel"')
  }
  if (action !== 'accept' || question.mode === 'url') {
    splice.remove(root, 'content')
    return
  }
  const content = at(root, 'content')
  const given = content === undefined ? {} : parsed(text, content)
  const fault = contentFault(question.requestedSchema, given, known.formLists)
  if (fault !== undefined) throw refusal(`.content${fault.path}`, fault.wanted)
}

/** X-ANS-04, X-ANS-05. */
function checkSampling({ text, root, splice, question, known, refusal }: Reading): void {
  const role = stringOf(text, at(root, 'role'))
  if (role !== 'user' && role !== 'assistant') throw refusal('.role', 'must be "user" or "assistant"')
  if (at(root, 'model')?.kind !== 'string') throw refusal('.model', 'must be a string')
  const content = at(root, 'content')
  if (content?.kind !== 'object' && content?.kind !== 'array')
    throw refusal('.content', 'must be a block, or a list of blocks')
  const tools = question.needs === 'samplingTools'
  const kinds = known.sampled.filter((kind) => tools || !toolBlocks.includes(kind))
  const blocks = content.items ?? [content]
  blocks.forEach((block, index) => {
    const path = content.kind === 'array' ? `.content[${index}]` : '.content'
    const kind = stringOf(text, at(block, 'type'))
    if (kind === undefined || !kinds.includes(kind))
      throw refusal(`${path}.type`, `must be one of ${JSON.stringify(kinds)}`)
    for (const name of blockStrings[kind] ?? []) {
      if (at(block, name)?.kind !== 'string') throw refusal(`${path}.${name}`, 'must be a string')
    }
  })
  if (content.kind !== 'array' || (tools && known.sampledLists)) return
  const [only] = blocks
  if (only === undefined || blocks.length > 1) throw refusal('.content', 'must be one block')
  splice.replace(content, textOf(text, only))
}

const toolBlocks: readonly string[] = ['tool_use', 'tool_result']

/** The strings that each kind of block must have. */
const blockStrings: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  tool_use: ['id', 'name'],
  tool_result: ['toolUseId'],
}

/** M-ROO-01. */
function checkRoots({ text, root, refusal }: Reading): void {
  const roots = at(root, 'roots')
  if (roots?.kind !== 'array') throw refusal('.roots', 'must be a list')
  roots.items?.forEach((entry, index) => {
    const uri = stringOf(text, at(entry, 'uri'))
    if (!uri?.startsWith('file://')) throw refusal(`.roots[${index}].uri`, 'must be a file:// URI')
    if ((at(entry, 'name')?.kind ?? 'string') !== 'string')
      throw refusal(`.roots[${index}].name`, 'must be a string')
  })
}
