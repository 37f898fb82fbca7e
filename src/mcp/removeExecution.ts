import type { Value } from './scan.ts'
import type { Splice } from './splice.ts'

/** Takes `execution`, a 2025-11-25 member, off each of `tools`, a list that was read with it (X-LST-02, X-SRQ-07). */
export function removeExecution(splice: Splice, tools: Value | undefined): void {
  for (const tool of tools?.items ?? []) {
    if (tool.kind === 'object') splice.remove(tool, 'execution')
  }
}
