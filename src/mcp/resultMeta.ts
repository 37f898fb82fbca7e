import { meta } from './meta.ts'
import { at, type Value } from './scan.ts'
import type { Splice } from './splice.ts'

/**
 * Puts the upstream's identity into a result's `_meta`, in the place of what stands there (X-ENV-08), and
 * takes out the keys that are not the upstream's to set (X-ENV-09). A `_meta` that is no object is replaced.
 */
export function spliceMeta(splice: Splice, result: Value, serverInfo: Buffer | undefined): void {
  const own = at(result, '_meta')
  if (own?.kind === 'object') {
    splice.remove(own, meta.relatedTask)
    splice.remove(own, meta.subscriptionId)
    if (serverInfo === undefined) splice.remove(own, meta.serverInfo)
    else splice.set(own, meta.serverInfo, serverInfo)
  } else if (serverInfo === undefined) {
    splice.remove(result, '_meta')
  } else {
    splice.set(result, '_meta', metaOf(serverInfo))
  }
}

/** A `_meta` of nothing but the upstream's identity, for results of our own making. */
export function metaOf(serverInfo: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"${meta.serverInfo}":`), serverInfo, Buffer.from('}')])
}
