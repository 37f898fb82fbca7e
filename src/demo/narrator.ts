/** Where a message was seen. */
export type Wire = 'client → proxy' | 'client ← proxy' | 'proxy → server' | 'proxy ← server'

const COLOURS: Record<Wire, string> = {
  'client → proxy': '\x1b[36m',
  'client ← proxy': '\x1b[36m',
  'proxy → server': '\x1b[33m',
  'proxy ← server': '\x1b[33m',
}
const MAX_TEXT = 60

/** Prints the demo: a heading for each step, and each message with the wire that it went over. */
export function createNarrator(write: (text: string) => void, colour: boolean) {
  const paint = (code: string, text: string): string => (colour ? `${code}${text}\x1b[0m` : text)

  return {
    step(text: string): void {
      write(`\n${paint('\x1b[1m', text)}\n`)
    },
    say(text: string): void {
      write(`${text}\n`)
    },
    message(wire: Wire, kind: string, message: unknown): void {
      const indent = wire.startsWith('client') ? '  ' : '        '
      const lines = JSON.stringify(message, shorten, 2).split('\n')
      write(`${indent}${paint(COLOURS[wire], wire)}  ${kind}\n`)
      for (const line of lines) write(`${indent}  ${paint('\x1b[2m', line)}\n`)
    },
  }
}

export type Narrator = ReturnType<typeof createNarrator>

/** Long opaque texts, such as a request state, are shown by their beginning. */
function shorten(_: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > MAX_TEXT
    ? `${value.slice(0, MAX_TEXT)}… (${value.length} characters)`
    : value
}
