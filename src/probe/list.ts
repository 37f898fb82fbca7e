import { UpstreamRefusal } from '../errors.ts'
import { isRecord } from '../mcp/isRecord.ts'
import { codeOf, type IncomingResponse } from '../mcp/message.ts'
import { at, parsed } from '../mcp/scan.ts'
import type { Listed, ListName } from './facts.ts'
import type { Hide } from './hide.ts'

/** Sends a request without params of its own, but for a cursor. */
export type Ask = (method: string, cursor?: string) => Promise<IncomingResponse>

const METHODS: Readonly<Record<ListName, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
}

/** Pages that are read of one list, and names that are kept of it. */
const MAX_PAGES = 4
const MAX_NAMES = 200
const MAX_NAME_LENGTH = 128

/** Reads the first pages of a list; what goes wrong is told in it. */
export async function readList(ask: Ask, list: ListName, hide: Hide): Promise<Listed> {
  const names: string[] = []
  let count = 0
  let cursor: string | undefined
  try {
    for (let page = 0; page < MAX_PAGES; page++) {
      const result = resultOf(await ask(METHODS[list], cursor))
      const items = result[list]
      if (!Array.isArray(items)) throw new Error(`the result has no ${list}`)
      count += items.length
      for (const item of items) if (names.length < MAX_NAMES) names.push(hide.text(nameOf(item)))
      cursor = typeof result.nextCursor === 'string' ? result.nextCursor : undefined
      if (cursor === undefined) break
    }
    return { count, names, more: cursor !== undefined || names.length < count, failure: null }
  } catch (error) {
    const failure = hide.text(reasonOf(error))
    return { count, names, more: true, failure: `${METHODS[list]}: ${failure}` }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamRefusal && error.challenge !== undefined)
    return `${error.message} and asks for: ${error.challenge}`
  return error instanceof Error ? error.message : String(error)
}

/**
 * The `result` of a response.
 *
 * @throws Error that tells the server's own
 */
export function resultOf(response: IncomingResponse): Record<string, unknown> {
  const { text, root } = response
  const result = at(root, 'result')
  if (result !== undefined) {
    const value = parsed(text, result)
    if (isRecord(value)) return value
  }
  const message = at(root, 'error', 'message')
  const said = message === undefined ? '' : `: ${String(parsed(text, message)).slice(0, 200)}`
  throw new Error(`error ${codeOf(response)}${said}`)
}

function nameOf(item: unknown): string {
  const name = isRecord(item) && typeof item.name === 'string' ? item.name : '(no name)'
  return name.slice(0, MAX_NAME_LENGTH)
}
