import type { ModernRequest } from '../mcp/request.ts'
import { at, stringOf } from '../mcp/scan.ts'

/** The tool, prompt or resource that a request is about. */
export function nameOf({ text, root }: ModernRequest): string | undefined {
  return stringOf(text, at(root, 'params', 'name') ?? at(root, 'params', 'uri'))
}
