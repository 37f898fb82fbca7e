const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const NOTHING = Buffer.alloc(0)
const BOM = Buffer.from('\ufeff')
/** An address that does not fit in the head of a request is none. */
const MAX_EVENT_BYTES = 16 * 1024

interface Line {
  readonly start: number
  /** Of its text, and with its line end. */
  readonly end: number
  readonly next: number
}

/**
 * Puts other addresses into the `endpoint` events of an event stream (2024-11-05 transports §HTTP with SSE).
 * Every other byte passes as it came, line ends and byte order mark included, wherever the chunks are cut.
 *
 * An event of up to 16 KiB waits for the blank line that ends it, since its name may come last; nothing is
 * lost by that, no reader looks at it before. Comments between events pass at once.
 */
export function createEndpointEvents(rewrite: (named: string) => string) {
  /** The event at hand, from its first field on, as far as it came. */
  let open = NOTHING
  /** The event at hand is known to be another one. */
  let passing = false
  /** The line at hand has begun in bytes that have passed. */
  let midLine = false
  /** The last byte that passed ended a line, and a LF would belong to it. */
  let afterCr = false
  let first = true

  /** @throws what `rewrite` throws */
  function push(chunk: Buffer): Buffer[] {
    if (chunk.length === 0) return []
    const bytes = open.length === 0 ? chunk : Buffer.concat([open, chunk])
    const lines = linesOf(bytes)
    const out: Buffer[] = []
    let passed = 0
    let event = -1
    let at = afterCr && bytes[0] === LF ? 1 : 0
    while (at < bytes.length) {
      const line = lines(at)
      const blank = line?.end === at && !midLine
      if (!blank && event < 0 && !passing && !midLine && bytes[at] !== COLON) event = at
      if (line === undefined) break
      midLine = false
      at = line.next
      if (!blank) continue
      passing = false
      if (event < 0) continue
      out.push(bytes.subarray(passed, event), withOurs(bytes.subarray(event, at)))
      passed = at
      event = -1
    }
    const waits = event >= 0 && bytes.length - event <= MAX_EVENT_BYTES
    if (event >= 0 && !waits) passing = true
    if (!waits) midLine = at < bytes.length
    open = waits ? Buffer.from(bytes.subarray(event)) : NOTHING
    const rest = bytes.subarray(passed, waits ? event : bytes.length)
    afterCr = !waits && bytes.at(-1) === CR
    out.push(rest)
    return out.filter((part) => part.length > 0)
  }

  /** The event with our address, if it is an endpoint. */
  function withOurs(event: Buffer): Buffer {
    const begin = first && event.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
    first = false
    if (!event.includes('endpoint')) return event
    let name = ''
    const values: { line: Line; from: number }[] = []
    const lines = linesOf(event)
    for (let line = lines(begin); line !== undefined; line = lines(line.next)) {
      const text = event.subarray(line.start, line.end)
      const colon = text.indexOf(COLON)
      const field = text.toString('latin1', 0, colon < 0 ? text.length : colon)
      const from = colon < 0 ? line.end : line.start + colon + (text[colon + 1] === SPACE ? 2 : 1)
      if (field === 'event') name = event.toString('latin1', from, line.end)
      if (field === 'data') values.push({ line, from })
    }
    const [value, ...more] = values
    if (name !== 'endpoint' || value === undefined) return event
    const named = values.map(({ line, from }) => event.toString('utf8', from, line.end)).join('\n')
    const colon = value.from === value.line.start + 4 ? ': ' : ''
    const parts = [event.subarray(0, value.from), Buffer.from(colon + rewrite(named))]
    let at = value.line.end
    for (const { line } of more) {
      parts.push(event.subarray(at, line.start))
      at = line.next
    }
    return Buffer.concat([...parts, event.subarray(at)])
  }

  return {
    push,
    /** What waited for an end that did not come. */
    end: (): Buffer => open,
  }
}

/** Finds the line that begins at an offset, if it has an end; offsets rise. */
function linesOf(bytes: Buffer): (at: number) => Line | undefined {
  let lf = -1
  let cr = -1
  const next = (byte: number, at: number): number => {
    const found = bytes.indexOf(byte, at)
    return found < 0 ? Number.POSITIVE_INFINITY : found
  }
  return (start) => {
    if (start >= bytes.length) return undefined
    if (lf < start) lf = next(LF, start)
    if (cr < start) cr = next(CR, start)
    const end = Math.min(lf, cr)
    if (end === Number.POSITIVE_INFINITY) return undefined
    return { start, end, next: end === cr && bytes[end + 1] === LF ? end + 2 : end + 1 }
  }
}
