import { type Facts, LISTS, type ListName } from './facts.ts'
import type { Hide } from './hide.ts'
import { type Ask, readList } from './list.ts'

/** Reads the lists that a server declares, one after the other: it may be a small one. */
export async function readDeclared(
  facts: Facts,
  capabilities: Readonly<Record<string, unknown>>,
  ask: Ask,
  hide: Hide,
): Promise<void> {
  for (const list of LISTS) {
    if (Object.hasOwn(capabilities, capabilityOf(list))) facts.lists[list] = await readList(ask, list, hide)
  }
  // Many servers declare resources and have no templates, and say so with an error.
  if (facts.lists.resourceTemplates?.failure?.includes('error -32601')) facts.lists.resourceTemplates = null
}

const capabilityOf = (list: ListName): string => (list === 'resourceTemplates' ? 'resources' : list)
