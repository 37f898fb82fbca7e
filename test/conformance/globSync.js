// The suite imports `globSync` of `fs`, which came with Node 22, and calls it only to read a repository. Loaded
// before the suite (`node --import`), this gives it an `fs` that has one.
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) register(import.meta.url)

const FS = 'data:text/javascript,export * from "node:fs"; export const globSync = () => []'

export async function resolve(specifier, context, next) {
  const suite = context.parentURL?.includes('/@modelcontextprotocol/conformance/')
  return specifier === 'fs' && suite ? { url: FS, shortCircuit: true } : next(specifier, context)
}
