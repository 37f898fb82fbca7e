import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { capabilityKey, reduce } from '../mcp/capabilities.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import { type MirroredParams, mayAnnotate, mirroredParams } from '../mcp/mirroredParams.ts'
import { checkParamHeaders } from '../mcp/paramHeaders.ts'
import type { ModernRequest } from '../mcp/request.ts'
import { at, each, type Shape, scan, stringOf } from '../mcp/scan.ts'

export interface AnnotationsOptions {
  /**
   * Asks the upstream for all tools, as the caller of `request`; each page that comes is learned. Resolves
   * when there is no more to be had, whatever the reason.
   */
  readonly askForTools: (request: ModernRequest) => Promise<void>
  readonly clock: Clock
}

/** Which parameters of the tools of one route stand in headers too, as far as the lists that passed told. */
export interface Annotations {
  /** Takes a page of `tools/list` on its way to the client that asked for it. */
  learn(request: ModernRequest, response: IncomingResponse): void
  /**
   * Holds the headers of a `tools/call` against its arguments. It resolves later only where the tools must be
   * asked for first: for a call with such headers whose tool is not known, once, and for one that would be
   * refused by a list that is not new.
   *
   * @throws ProtocolError -32020
   */
  check(request: ModernRequest): Promise<void> | undefined
}

interface Known {
  /** The tools with annotations that hold, and when they were last listed. */
  readonly tools: Map<string, { readonly mirrored: MirroredParams; readonly heardMs: number }>
  /** When a list was begun. */
  begunMs: number | undefined
  /** A list was heard to its end: what is not in `tools` mirrors nothing. */
  complete: boolean
}

/** Authorization contexts with capabilities; forgetting one costs a list. */
const MAX_CONTEXTS = 1_000
/** Tools with annotations in one list. */
const MAX_TOOLS = 1_000
/** How long a call waits for the list that it would be held against. */
const ASK_MS = 5_000
/** A list this young needs no second look before a call is refused. */
const FRESH_MS = 5_000

const listShape = {
  result: { nextCursor: true, tools: each({ name: true, inputSchema: true }) },
} as const satisfies Shape

/** Remembers what `tools/list` said, apart for each authorization context and its capabilities. */
export function createAnnotations({ askForTools, clock }: AnnotationsOptions): Annotations {
  const contexts = new LRUCache<string, Known>({ max: MAX_CONTEXTS })
  const asking = new Map<string, Promise<void>>()
  /** Some tool was annotated: most servers have none, and their calls need not be looked at. */
  let annotated = false

  function learn(request: ModernRequest, response: IncomingResponse): void {
    const key = keyOf(request)
    let known = contexts.get(key)
    if (known === undefined) {
      known = { tools: new Map(), begunMs: undefined, complete: false }
      contexts.set(key, known)
    }
    const now = clock.now()
    const cursor = at(request.root, 'params', 'cursor')
    if (cursor === undefined || cursor.kind === 'null') known.begunMs = now
    if (known.tools.size > 0 || mayAnnotate(response.text)) learnTools(known, response.text, now)
    annotated ||= known.tools.size > 0
    if (at(response.root, 'result', 'nextCursor')?.kind === 'string' || known.begunMs === undefined) return
    known.complete = true
    // What the whole list did not name any more is gone.
    for (const [name, { heardMs }] of known.tools) if (heardMs < known.begunMs) known.tools.delete(name)
  }

  /** Once for all calls of one context that need it at the same time; a slow list is not waited for to its end. */
  function ask(request: ModernRequest): Promise<void> {
    const key = keyOf(request)
    let asked = asking.get(key)
    if (asked === undefined) {
      asked = new Promise((resolve) => {
        const done = (): void => {
          stop()
          asking.delete(key)
          resolve()
        }
        const stop = clock.after(ASK_MS, resolve)
        askForTools(request).then(done, done)
      })
      asking.set(key, asked)
    }
    return asked
  }

  return {
    learn,
    check(request) {
      if (!annotated && request.paramHeaders.size === 0) return undefined
      const name = stringOf(request.text, at(request.root, 'params', 'name'))
      if (name === undefined) return undefined
      const find = () => contexts.get(keyOf(request))?.tools.get(name)
      const again = async (): Promise<void> => {
        await ask(request)
        const tool = find()
        if (tool !== undefined) hold(tool.mirrored, request)
      }
      const known = contexts.get(keyOf(request))
      const tool = known?.tools.get(name)
      if (tool === undefined) {
        return request.paramHeaders.size > 0 && known?.complete !== true ? again() : undefined
      }
      try {
        hold(tool.mirrored, request)
      } catch (error) {
        if (clock.now() - tool.heardMs < FRESH_MS) throw error
        return again()
      }
      return undefined
    },
  }
}

function learnTools({ tools }: Known, text: Buffer, heardMs: number): void {
  for (const tool of at(scan(text, listShape), 'result', 'tools')?.items ?? []) {
    const name = stringOf(text, at(tool, 'name'))
    const schema = at(tool, 'inputSchema')
    if (name === undefined || schema === undefined) continue
    const mirrored = mirroredParams(text, schema)
    if (mirrored === undefined) tools.delete(name)
    else if (tools.size < MAX_TOOLS || tools.has(name)) tools.set(name, { mirrored, heardMs })
  }
}

function hold(mirrored: MirroredParams, { paramHeaders, text, root }: ModernRequest): void {
  checkParamHeaders(mirrored, paramHeaders, text, at(root, 'params', 'arguments'))
}

const keyOf = ({ caller, envelope }: ModernRequest): string =>
  JSON.stringify([caller.context, capabilityKey(reduce(envelope.capabilities))])
