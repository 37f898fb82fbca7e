import { ScanError } from './scanError.ts'
import { QUOTE, stringEnd } from './tokens.ts'

const LF = 0x0a
const CR = 0x0d

/**
 * A JSON text fit for one `data:` line of an event stream: line breaks between tokens become spaces. A text
 * without any is returned as it is, not copied.
 * @throws ScanError 'syntax' for a raw line break inside a string: split there, the rest of the string would
 *   speak to the client as an event of its own
 */
export function oneLine(text: Buffer): Buffer {
  let lf = text.indexOf(LF)
  let cr = text.indexOf(CR)
  if (lf === -1 && cr === -1) return text
  const line = Buffer.from(text)
  let at = 0
  for (;;) {
    const next = lf === -1 ? cr : cr === -1 ? lf : Math.min(lf, cr)
    if (next === -1) return line
    while (at < next) at = text[at] === QUOTE ? stringEnd(text, at, false) : at + 1
    if (at > next) throw new ScanError('syntax', next, 'a raw line break in a string')
    line[next] = 0x20
    if (next === lf) lf = text.indexOf(LF, lf + 1)
    else cr = text.indexOf(CR, cr + 1)
  }
}
