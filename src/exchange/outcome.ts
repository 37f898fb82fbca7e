/** How an exchange ends: a response of the upstream around the place of its id, or an error of ours. */
export type Outcome =
  | { readonly kind: 'message'; readonly head: Buffer; readonly tail: Buffer; readonly status: number }
  | { readonly kind: 'error'; readonly error: Error }

/** Bytes that keeping it costs. */
export function sizeOf(outcome: Outcome): number {
  return outcome.kind === 'message' ? outcome.head.length + outcome.tail.length : 256
}
