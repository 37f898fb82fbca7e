import { type Incoming, isWritten } from './message.ts'
import { at } from './scan.ts'
import type { Splice } from './splice.ts'

/** A response without its id: `head`, the id's bytes and `tail` make the message, for one leg after the other. */
export interface Framed {
  readonly head: Buffer
  readonly tail: Buffer
}

/** Told from all other bytes by being itself. */
const idPlace = Buffer.alloc(0)

/** Applies `splice`, which holds the edits of `message`, and splits the outcome where the id belongs. */
export function framed(message: Incoming, splice: Splice): Framed {
  const { text, root } = message
  if (!isWritten(text, at(root, 'jsonrpc'), '"2.0"')) splice.set(root, 'jsonrpc', '"2.0"')
  const id = at(root, 'id')
  if (id === undefined) {
    // The object is not empty: it has a result or an error.
    const whole = splice.bytes()
    const first = root.start + 1
    return { head: Buffer.from('{"id":'), tail: Buffer.concat([Buffer.from(','), whole.subarray(first)]) }
  }
  splice.replace(id, idPlace)
  const parts = splice.parts()
  const place = parts.indexOf(idPlace)
  return { head: Buffer.concat(parts.slice(0, place)), tail: Buffer.concat(parts.slice(place + 1)) }
}
