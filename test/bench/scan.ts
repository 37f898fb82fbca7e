/*
 * Time of the byte path by size: the time for a byte must not grow. Asserts that it reads right, then
 * prints nanoseconds a byte. Takes a Node that strips types (22.18 and later), or a bundler before it.
 */
import assert from 'node:assert/strict'
import { canonicalDigest } from '../../src/mcp/canonical.ts'
import { oneLine } from '../../src/mcp/oneLine.ts'
import { at, type Shape, scan, stringOf } from '../../src/mcp/scan.ts'
import { createSplice } from '../../src/mcp/splice.ts'
import { createSseReader } from '../../src/mcp/sseReader.ts'

const KIB = 1024
const SIZES = [10 * KIB, 100 * KIB, 1024 * KIB, 10 * 1024 * KIB]
const BUDGET_MS = 150

const shape: Shape = { id: true, method: true, params: { name: true, _meta: { progressToken: true } } }

/** A request whose `params` hold `filling` and, after it, what is read. */
function request(filling: string): Buffer {
  return Buffer.from(`{"id":1,"params":{${filling},"_meta":{"progressToken":"last"}}}`)
}

/** Repeats `unit` up to `bytes`; `unit` is given the count so that it can write distinct names. */
function repeat(bytes: number, unit: (i: number) => string): string {
  const units: string[] = []
  for (let length = 0, i = 0; length < bytes; i++) {
    const next = unit(i)
    units.push(next)
    length += next.length + 1
  }
  return units.join(',')
}

const texts: Record<string, (bytes: number) => Buffer> = {
  'base64 string': (bytes) => request(`"x":"${'QUJD'.repeat(bytes / 4)}"`),
  'many members, read': (bytes) => request(repeat(bytes, (i) => `"member${i}":${i}`)),
  'many members, escaped': (bytes) => request(repeat(bytes, (i) => `"m\\u0065mber${i}":${i}`)),
  'many members, skipped': (bytes) => request(`"x":{${repeat(bytes, (i) => `"member${i}":${i}`)}}`),
  'many escapes': (bytes) => request(`"x":"${'\\"\\\\\\n\\u0041'.repeat(bytes / 12)}"`),
  'many backslashes': (bytes) => request(`"x":"${'\\\\'.repeat(bytes / 2)}"`),
  'many strings': (bytes) => request(`"x":[${repeat(bytes, () => '"ab"')}]`),
  'deep nesting': (bytes) => request(`"x":[${repeat(bytes, () => '['.repeat(60) + ']'.repeat(60))}]`),
  'numbers and space': (bytes) => request(`"x":[${repeat(bytes, () => '\n    -12.5e3')}]`),
}

function readBack(text: Buffer, strict: boolean): void {
  const root = scan(text, shape, { strict, foldCase: strict })
  assert.equal(stringOf(text, at(root, 'params', '_meta', 'progressToken')), 'last')
}

function spliced(text: Buffer): void {
  const root = scan(text, shape)
  const params = at(root, 'params')
  assert.ok(params)
  const splice = createSplice(text)
  splice.remove(params, '_meta')
  splice.set(root, 'id', '7')
  assert.ok(splice.parts().length >= 3)
}

const CHUNK_BYTES = 64 * KIB

function readEvents(stream: Buffer, events: number): void {
  let seen = 0
  const reader = createSseReader({ event: () => seen++ })
  for (let from = 0; from < stream.length; from += CHUNK_BYTES) {
    reader.push(stream.subarray(from, from + CHUNK_BYTES))
  }
  assert.equal(seen, events)
}

const streams: Record<string, (bytes: number) => () => void> = {
  'sse: one line': (bytes) => {
    const stream = Buffer.from(`data: ${'x'.repeat(bytes)}\n\n`)
    return () => readEvents(stream, 1)
  },
  'sse: short lines of one event': (bytes) => {
    const stream = Buffer.from(`${'data: x\n'.repeat(bytes / 8)}\n`)
    return () => readEvents(stream, 1)
  },
  'sse: short events, CRLF': (bytes) => {
    const events = Math.floor(bytes / 40)
    const stream = Buffer.from(`event: message\r\ndata: {"id":12345}\r\n\r\n`.repeat(events))
    return () => readEvents(stream, events)
  },
  'sse: short events, CR': (bytes) => {
    const events = Math.floor(bytes / 20)
    const stream = Buffer.from('data: {"id":12345}\r\r'.repeat(events))
    return () => readEvents(stream, events)
  },
}

/** Milliseconds that `act` takes, the best of as many runs as fit. */
function measure(act: () => void): number {
  let best = Number.POSITIVE_INFINITY
  const stop = performance.now() + BUDGET_MS
  do {
    const start = performance.now()
    act()
    best = Math.min(best, performance.now() - start)
  } while (performance.now() < stop)
  return best
}

function row(label: string, actOf: (bytes: number) => () => void): void {
  const cells = SIZES.map((bytes) => ((measure(actOf(bytes)) * 1e6) / bytes).toFixed(3).padStart(10))
  console.log(label.padEnd(34) + cells.join(''))
}

console.log(
  `${'ns per byte'.padEnd(34)}${['10 KiB', '100 KiB', '1 MiB', '10 MiB'].map((size) => size.padStart(10)).join('')}`,
)
for (const [label, textOf] of Object.entries(texts)) {
  for (const strict of [false, true]) {
    row(`${label}${strict ? ', strict' : ''}`, (bytes) => {
      const text = textOf(bytes)
      return () => readBack(text, strict)
    })
  }
}
for (const [label, textOf] of Object.entries(texts)) {
  row(`digest: ${label}`, (bytes) => {
    const text = textOf(bytes)
    return () => assert.equal(canonicalDigest(text).length, 32)
  })
}
row('splice: base64 string', (bytes) => {
  const text = texts['base64 string']?.(bytes) ?? Buffer.alloc(0)
  return () => spliced(text)
})
row('oneLine: numbers and space', (bytes) => {
  const text = texts['numbers and space']?.(bytes) ?? Buffer.alloc(0)
  return () => assert.equal(oneLine(text).includes('\n'), false)
})
for (const [label, actOf] of Object.entries(streams)) row(label, actOf)

const small = Buffer.from(
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'book',
      arguments: { from: 'Vienna', to: 'Graz', seats: 2, note: 'a window, please' },
      _meta: { progressToken: 'last', 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
    },
  }),
)
for (const strict of [false, true]) {
  const runs = 20_000
  const ms = measure(() => {
    for (let i = 0; i < runs; i++) readBack(small, strict)
  })
  console.log(
    `a request of ${small.length} bytes${strict ? ', strict' : ''}: ${((ms * 1000) / runs).toFixed(2)} µs`,
  )
}
