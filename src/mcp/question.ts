import type { Capabilities } from './capabilities.ts'
import { inputRequest, type QuestionParams, questionShape } from './inputRequest.ts'
import { isRecord } from './isRecord.ts'
import type { IncomingRequest } from './message.ts'
import { meta } from './meta.ts'
import { at, parsed, ScanError, scan, stringOf, textOf, type Value } from './scan.ts'

export type QuestionKind = 'elicitation' | 'sampling' | 'roots'

/** The capability that a question takes, by the name it has in `Capabilities`. */
export type Need = 'form' | 'url' | 'sampling' | 'samplingTools' | 'roots'

/** What `-32021` names: an object of capability objects (M-BASE-16). */
export type RequiredCapabilities = Readonly<Record<string, object>>

/** A server request that this client can be asked. Nothing in it holds on to the bytes it came in. */
export interface Question {
  readonly kind: QuestionKind
  /** Of an elicitation. */
  readonly mode: 'form' | 'url' | undefined
  readonly method: string
  /** The server request's id as it was written. */
  readonly id: Buffer
  /** The input request's JSON bytes. */
  readonly input: Buffer
  /** The upstream's own id, if it can be a key of `inputRequests` (design §5.2). */
  readonly preferredKey: string | undefined
  /** The token under which the upstream wants to hear that somebody still thinks; JSON bytes. */
  readonly progressToken: Buffer | undefined
  /** Of a URL elicitation: the id under which its completion will be told. */
  readonly elicitationId: string | undefined
  /** The upstream's task that asks (L-TSK-03). */
  readonly relatedTask: string | undefined
  readonly needs: Need
  /** The form's schema, parsed; undefined for anything but a form. */
  readonly requestedSchema: unknown
}

export interface AcceptedQuestion {
  readonly ok: true
  readonly question: Question
}

/** A server request that is refused upstream with this error, while its call goes on. */
export interface RefusedQuestion {
  readonly ok: false
  readonly code: -32601 | -32602
  readonly message: string
  /** `requiredCapabilities` for `-32021`, if it was refused for what the client did not declare (M-BASE-16). */
  readonly undeclared: RequiredCapabilities | undefined
}

/** The params of a question that has none. */
const nothing = { text: Buffer.alloc(0), root: undefined } as const

const kinds: Readonly<Record<string, QuestionKind>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/**
 * Reads a server request as an input request for a client that declared `capabilities`, or says how to
 * refuse it (X-SRQ-01 … 10, 14). It is read strictly: one that no parser takes would spoil the whole round.
 */
export function readQuestion(
  incoming: IncomingRequest,
  { capabilities }: { readonly capabilities: Capabilities; readonly revision?: string },
): AcceptedQuestion | RefusedQuestion {
  const { id, method } = incoming
  const kind = Object.hasOwn(kinds, method) ? kinds[method] : undefined
  if (kind === undefined) return refused(-32601, 'Method not found')
  const params = readParams(incoming)
  if (params === 'broken') return refused(-32602, 'params: not readable')
  const needs = needOf(kind, params)
  if (needs === undefined) return refused(-32602, 'mode: unknown')
  const missing = missingFor(needs, capabilities)
  if (missing !== undefined) {
    const message = `the client did not declare ${JSON.stringify(missing)}`
    return refused(declares(kind, capabilities) ? -32602 : -32601, message, missing)
  }
  const fault = faultOf(needs, params)
  if (fault !== undefined) return refused(-32602, fault)
  const { text, root } = params ?? nothing
  const schema = needs === 'form' ? at(root, 'requestedSchema') : undefined
  const question: Question = {
    kind,
    mode: needs === 'form' || needs === 'url' ? needs : undefined,
    method,
    id,
    input: inputRequest(method, params, capabilities.samplingContext),
    preferredKey: keyOf(id),
    progressToken: tokenOf(text, at(root, '_meta', 'progressToken')),
    elicitationId: needs === 'url' ? stringOf(text, at(root, 'elicitationId')) : undefined,
    relatedTask: stringOf(text, at(root, '_meta', meta.relatedTask, 'taskId')),
    needs,
    requestedSchema: schema && parsed(text, schema),
  }
  return { ok: true, question }
}

function readParams({ text, root }: IncomingRequest): QuestionParams | undefined | 'broken' {
  const params = at(root, 'params')
  if (params?.kind !== 'object') return undefined
  const own = textOf(text, params)
  try {
    return { text: own, root: scan(own, questionShape, { strict: true }) }
  } catch (error) {
    if (error instanceof ScanError) return 'broken'
    throw error
  }
}

/** What `question` takes and `capabilities` lack, as `requiredCapabilities`; checked again on every retry (M-MRTR-06). */
export function covers({ needs }: Question, capabilities: Capabilities): RequiredCapabilities | undefined {
  return missingFor(needs, capabilities)
}

/** A key of the form that the gateway makes up, which no upstream's id may take (M-MRTR-04). */
export function generatedLooking(key: string): boolean {
  return /^(?:elicitation|sampling|roots)-\d+$/.test(key)
}

/** Undefined for a mode that we do not know. */
function needOf(kind: QuestionKind, params: QuestionParams | undefined): Need | undefined {
  const { text, root } = params ?? nothing
  switch (kind) {
    case 'elicitation': {
      const mode = at(root, 'mode')
      if (mode === undefined) return 'form' // L-ELI-01
      const name = stringOf(text, mode)
      return name === 'form' || name === 'url' ? name : undefined
    }
    case 'sampling':
      return at(root, 'tools') || at(root, 'toolChoice') ? 'samplingTools' : 'sampling'
    case 'roots':
      return 'roots'
  }
}

function missingFor(need: Need, has: Capabilities): RequiredCapabilities | undefined {
  if (has[need]) return undefined
  switch (need) {
    case 'form':
      return { elicitation: has.url ? { form: {} } : {} }
    case 'url':
      return { elicitation: { url: {} } }
    case 'sampling':
      return { sampling: {} }
    case 'samplingTools':
      return { sampling: { tools: {} } }
    case 'roots':
      return { roots: {} }
  }
}

/** The kind itself was declared, so that only a mode or the tools are at fault (X-SRQ-10). */
function declares(kind: QuestionKind, has: Capabilities): boolean {
  return kind === 'elicitation' ? has.form || has.url : has[kind]
}

/** What an input request must have and this one has not: embedded, it would spoil the whole round (M-MRTR-05). */
function faultOf(needs: Need, params: QuestionParams | undefined): string | undefined {
  const { text, root } = params ?? nothing
  const kindOf = (name: string) => at(root, name)?.kind
  switch (needs) {
    case 'form':
      if (kindOf('message') !== 'string') return 'message: must be a string'
      return formFault(text, at(root, 'requestedSchema'))
    case 'url':
      if (kindOf('message') !== 'string') return 'message: must be a string'
      return URL.canParse(stringOf(text, at(root, 'url')) ?? '') ? undefined : 'url: must be a URL' // M-ELI-02
    case 'sampling':
    case 'samplingTools':
      if (kindOf('messages') !== 'array') return 'messages: must be an array'
      return Number.isInteger(numberAt(text, root, 'maxTokens')) ? undefined : 'maxTokens: must be an integer'
    case 'roots':
      return undefined
  }
}

/** What clients can show is flat: fields of these types (M-ELI-02). */
const FIELD_TYPES = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'array'])

function formFault(text: Buffer, value: Value | undefined): string | undefined {
  const schema: unknown = value && parsed(text, value)
  if (!isRecord(schema)) return 'requestedSchema: must be an object'
  const { type, properties } = schema
  if (type !== 'object' || !isRecord(properties))
    return 'requestedSchema: must be of type object, with properties'
  const odd = Object.entries(properties).find(([, field]) => !isRecord(field) || !FIELD_TYPES.has(field.type))
  return odd && `requestedSchema.properties: ${JSON.stringify(odd[0])} is no field that a form can have`
}

function numberAt(text: Buffer, root: Value | undefined, name: string): number {
  const value = at(root, name)
  return value?.kind === 'number' ? Number(textOf(text, value).toString('latin1')) : Number.NaN
}

/** Clients copy keys into objects, hence no name that means something there. */
function keyOf(id: Buffer): string | undefined {
  const key = /^"([\w-]{1,64})"$/.exec(id.toString('latin1'))?.[1]
  if (key === undefined || generatedLooking(key)) return undefined
  return ['__proto__', 'constructor', 'prototype'].includes(key) ? undefined : key
}

function tokenOf(text: Buffer, token: Value | undefined): Buffer | undefined {
  return token?.kind === 'string' || token?.kind === 'number' ? Buffer.from(textOf(text, token)) : undefined
}

function refused(code: -32601 | -32602, message: string, undeclared?: RequiredCapabilities): RefusedQuestion {
  return { ok: false, code, message, undeclared }
}
