import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSseReader, type SseReaderOptions } from '../../../src/mcp/sseReader.ts'

interface Seen {
  readonly event: string | undefined
  readonly data: string
  readonly id: string | undefined
}

function read(chunks: readonly Buffer[], options?: SseReaderOptions) {
  const events: Seen[] = []
  const retries: number[] = []
  let comments = 0
  const reader = createSseReader(
    {
      event: ({ event, data, id }) => events.push({ event, data: data.toString('latin1'), id }),
      retry: (ms) => retries.push(ms),
      comment: () => comments++,
    },
    options,
  )
  for (const chunk of chunks) reader.push(chunk)
  reader.end()
  return { events, retries, comments }
}

function readText(...chunks: string[]) {
  return read(chunks.map((chunk) => Buffer.from(chunk)))
}

/** The standard's rules, line by line, for a stream that is all there. */
function reference(stream: Buffer): Seen[] {
  const lines = stream
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .split(/\r\n|\r|\n/)
  const events: Seen[] = []
  const text = (value: string | undefined) => value && Buffer.from(value, 'latin1').toString()
  let fields = new Map<string, string>()
  let data: string[] = []
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      const { event, id } = Object.fromEntries(fields)
      if (data.length > 0)
        events.push({ event: text(event) || undefined, data: data.join('\n'), id: text(id) })
      fields = new Map()
      data = []
      continue
    }
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field !== 'id' || !value.includes('\0')) fields.set(field, value)
  }
  return events
}

describe('events', () => {
  test('L-SSE-02: a name, data and an id, or none', () => {
    expect(readText('event: endpoint\ndata: /messages?é=1\nid: ä\n\ndata:x\n\n').events).toEqual([
      { event: 'endpoint', data: Buffer.from('/messages?é=1').toString('latin1'), id: 'ä' },
      { event: undefined, data: 'x', id: undefined },
    ])
  })

  test('L-HTTP-04: retry, and events that only prime', () => {
    const { events, retries } = readText(
      `retry: 1500\nid: 7\ndata:\n\nretry: soon\nretry: ${'9'.repeat(40)}\n\n`,
    )
    expect(events).toEqual([{ event: undefined, data: '', id: '7' }])
    expect(retries).toEqual([1500])
  })

  test('comments, unknown fields and events that were not finished', () => {
    const { events, comments } = readText(':\n: ping\nfoo: bar\nevent: x\n\ndata: a\ndata\n\ndata: lost\n')
    expect(events).toEqual([{ event: undefined, data: 'a\n', id: undefined }])
    expect(comments).toBe(2)
  })

  test('bytes are bytes, also when a character is cut', () => {
    const data = Buffer.from([...Array(256).keys()].filter((byte) => byte !== 10 && byte !== 13))
    const stream = Buffer.concat([Buffer.from('data: é'), data, Buffer.from('\n\n')])
    const { events } = read([...stream].map((byte) => Buffer.from([byte])))
    expect(events[0]?.data).toBe(Buffer.concat([Buffer.from('é'), data]).toString('latin1'))
  })

  test('data is its own memory', () => {
    const chunk = Buffer.from('data: abc\n\n')
    const events: Buffer[] = []
    createSseReader({ event: ({ data }) => events.push(data) }).push(chunk)
    chunk.fill(0)
    expect(events.map(String)).toEqual(['abc'])
  })
})

describe('line ends', () => {
  test('a CR dispatches at once, and a LF after it is no second line', () => {
    const seen: string[] = []
    const reader = createSseReader({ event: ({ data }) => seen.push(data.toString()) })
    reader.push(Buffer.from('data: a\r\r'))
    expect(seen).toEqual(['a'])
    reader.push(Buffer.from('data: b\r'))
    reader.push(Buffer.from('\n'))
    expect(seen).toEqual(['a'])
    reader.push(Buffer.from('\r'))
    expect(seen).toEqual(['a', 'b'])
    reader.push(Buffer.from(''))
    reader.push(Buffer.from('\ndata: c\n\r'))
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  test('a byte order mark at the start, whole or in pieces, and only there', () => {
    const marked = Buffer.from('\ufeffdata: a\n\n\ufeffdata: b\n\n')
    expect(read([marked]).events.map(({ data }) => data)).toEqual(['a'])
    expect(read([...marked].map((byte) => Buffer.from([byte]))).events.map(({ data }) => data)).toEqual(['a'])
    expect(readText('\ufeff\ufeffdata: a\n\n').events).toEqual([])
    expect(read([Buffer.from('\u00ef\u00bb\ndata: a\n\n', 'latin1')]).events).toHaveLength(1)
  })

  test('any stream in any pieces gives the events of the standard', () => {
    const lineEnd = fc.constantFrom('\n', '\r', '\r\n')
    const value = fc.oneof(
      fc.constantFrom('', ' ', '  x', 'é', '{"a":"b:c"}', '\0'),
      fc.string({ maxLength: 8 }),
    )
    const field = fc.constantFrom(
      'data:',
      'data: ',
      'data',
      'event: ',
      'id:',
      'retry:',
      ':',
      'x:',
      '',
      '',
      '',
    )
    const line = fc.tuple(field, value, lineEnd).map(([field, value, end]) => {
      return (field === '' ? '' : field + value.replace(/[\r\n]/g, '')) + end
    })
    const stream = fc.tuple(fc.constantFrom('', '', '\ufeff', '\ufeff\r'), fc.array(line, { maxLength: 25 }))
    const cuts = fc.array(fc.nat(200), { maxLength: 20 })
    const check = fc.property(stream, cuts, ([mark, lines], cuts) => {
      const whole = Buffer.from(mark + lines.join(''))
      const places = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length]
      const chunks = places.slice(1).map((place, i) => whole.subarray(places[i], place))
      const { events } = read(chunks)
      expect(events).toEqual(reference(whole))
      expect(read([...whole].map((byte) => Buffer.from([byte]))).events).toEqual(events)
    })
    fc.assert(check, { numRuns: 500 })
  })
})

describe('limits', () => {
  const tooLarge = expect.objectContaining({ name: 'SseTooLarge', message: 'an event passed 1000 bytes' })
  const filled = (bytes: number) => Buffer.alloc(bytes, 'x')

  test.each([
    ['one line without end', [Buffer.from('data: '), ...Array(3).fill(filled(400))]],
    ['a comment without end', [Buffer.from(':'), ...Array(3).fill(filled(400))]],
    ['many lines', Array(300).fill(Buffer.from('data: xxx\n'))],
    ['many empty lines', Array(200).fill(Buffer.from('data:\n'))],
    ['an event in one chunk', [Buffer.concat([Buffer.from('data: '), filled(1001), Buffer.from('\n\n')])]],
  ])('%s', (_, chunks: Buffer[]) => {
    expect(() => read(chunks, { maxEventBytes: 1000 })).toThrow(tooLarge)
  })

  test('nothing is read after it', () => {
    const seen: string[] = []
    const reader = createSseReader(
      { event: ({ data }) => seen.push(data.toString()) },
      { maxEventBytes: 1000 },
    )
    expect(() => reader.push(filled(1001))).toThrow(tooLarge)
    expect(() => reader.push(Buffer.from('\n\ndata: a\n\n'))).toThrow(tooLarge)
    expect(seen).toEqual([])
  })

  test('many events and comments below it are no event above it', () => {
    const chunk = Buffer.concat([Buffer.from(':\ndata: '), filled(900), Buffer.from('\n\n')])
    expect(read(Array(50).fill(chunk), { maxEventBytes: 1000 })).toMatchObject({ comments: 50 })
  })

  test.each([':\n\n', ': ping\n', ': ping\r\r', 'event: ping\r\n\r\n', '\n\n', 'id: 1\n\n'])(
    'a stream that is only kept alive may go on: %j',
    (sign) => {
      expect(read(Array(400).fill(Buffer.from(sign)), { maxEventBytes: 1000 }).events).toEqual([])
    },
  )

  test('30 MiB in one line, in chunks of 64 KiB', () => {
    const chunk = filled(64 * 1024)
    const chunks = [Buffer.from('data: '), ...Array(480).fill(chunk), Buffer.from('\n\n')]
    const sizes: number[] = []
    const reader = createSseReader({ event: ({ data }) => sizes.push(data.length) })
    for (const piece of chunks) reader.push(piece)
    expect(sizes).toEqual([480 * 64 * 1024])
  })
})

test('a listener that throws ends the reader', () => {
  const reader = createSseReader({
    event: () => {
      throw new Error('no more')
    },
  })
  expect(() => reader.push(Buffer.from('data: a\n\ndata: b\n\n'))).toThrow('no more')
  expect(() => reader.push(Buffer.from('data: c\n\n'))).toThrow('no more')
})
