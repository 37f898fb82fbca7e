/** Why a text was refused; the door and the upstream side map the words to their own errors. */
export type ScanReason = 'syntax' | 'truncated' | 'depth' | 'duplicate' | 'case'

/**
 * A JSON text that we do not accept. `path` leads to the deepest member that was being read
 * (`params._meta`, empty for the text itself) and `offset` is the byte where reading stopped.
 */
export class ScanError extends Error {
  readonly reason: ScanReason
  readonly offset: number
  readonly what: string
  path = ''

  constructor(reason: ScanReason, offset: number, what: string) {
    super(`${what} at byte ${offset}`)
    this.name = 'ScanError'
    this.reason = reason
    this.offset = offset
    this.what = what
  }

  /** Puts one more step, `name` or `[3]`, in front of the path; the reader does it on its way out. */
  inside(step: string): this {
    this.path = this.path === '' || this.path.startsWith('[') ? step + this.path : `${step}.${this.path}`
    this.message = `${this.path}: ${this.what} at byte ${this.offset}`
    return this
  }
}

/** Refuses what stands at `at`, or says that the text ended there. */
export function unexpected(text: Buffer, at: number, wanted: string): never {
  if (at >= text.length) throw new ScanError('truncated', text.length, `the text ends where ${wanted} is due`)
  const byte = text[at] as number
  const found = byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16)}`
  throw new ScanError('syntax', at, `${found} where ${wanted} is due`)
}
