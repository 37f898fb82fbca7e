import { describe, expect, it } from 'vitest'
import { createEndpointEvents } from '../../../src/http/endpointEvents.ts'

/** What comes out of a stream in pieces, and the names that were found in it. */
function through(pieces: readonly Buffer[]): { out: Buffer; named: string[] } {
  const named: string[] = []
  const events = createEndpointEvents((name) => {
    named.push(name)
    return 'OURS'
  })
  const out = pieces.flatMap((piece) => events.push(piece))
  return { out: Buffer.concat([...out, events.end()]), named }
}

const bytewise = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]))

/** Every way to cut a stream in two, and all of it byte by byte. */
function cuts(text: string | Buffer): Buffer[][] {
  const bytes = Buffer.from(text)
  const halves = [...bytes.keys()].map((at) => [bytes.subarray(0, at), bytes.subarray(at)])
  return [...halves, [bytes], bytewise(bytes)]
}

describe('endpoint events get another address, wherever the stream is cut', () => {
  it.each([
    ['LF', 'event: endpoint\ndata: /m\n\ndata: x\n\n', 'event: endpoint\ndata: OURS\n\ndata: x\n\n'],
    [
      'CRLF',
      'event: endpoint\r\ndata: /m\r\n\r\ndata: x\r\n\r\n',
      'event: endpoint\r\ndata: OURS\r\n\r\ndata: x\r\n\r\n',
    ],
    ['CR', 'event: endpoint\rdata: /m\r\rdata: x\r\r', 'event: endpoint\rdata: OURS\r\rdata: x\r\r'],
    [
      'mixed ends',
      'event: endpoint\rdata: /m\r\n\rdata: x\n\n',
      'event: endpoint\rdata: OURS\r\n\rdata: x\n\n',
    ],
    ['no blank', 'event:endpoint\ndata:/m\n\n', 'event:endpoint\ndata:OURS\n\n'],
    ['the name last', 'data: /m\nid: 7\nevent: endpoint\n\n', 'data: OURS\nid: 7\nevent: endpoint\n\n'],
    [
      'the last name counts',
      'event: message\nevent: endpoint\ndata: /m\n\n',
      'event: message\nevent: endpoint\ndata: OURS\n\n',
    ],
    [
      'a comment within',
      'event: endpoint\n: c\ndata: /m\nretry: 3\n\n',
      'event: endpoint\n: c\ndata: OURS\nretry: 3\n\n',
    ],
    [
      'a comment before',
      ':\n: hi\r\n\nevent: endpoint\ndata: /m\n\n',
      ':\n: hi\r\n\nevent: endpoint\ndata: OURS\n\n',
    ],
    [
      'blank lines before',
      '\n\r\n\r\revent: endpoint\ndata: /m\n\n',
      '\n\r\n\r\revent: endpoint\ndata: OURS\n\n',
    ],
    [
      'other events before',
      'event: hello\ndata: 1\n\nid\n\nevent: endpoint\ndata: /m\n\n',
      'event: hello\ndata: 1\n\nid\n\nevent: endpoint\ndata: OURS\n\n',
    ],
    ['a byte order mark', '\ufeffevent: endpoint\ndata: /m\n\n', '\ufeffevent: endpoint\ndata: OURS\n\n'],
    [
      'in two lines',
      'event: endpoint\ndata: /m\nid: 1\ndata: x\n\n',
      'event: endpoint\ndata: OURS\nid: 1\n\n',
      '/m\nx',
    ],
    ['none', 'event: endpoint\ndata\n\n', 'event: endpoint\ndata: OURS\n\n', ''],
  ])('%s', (_name, text, expected, named = '/m') => {
    for (const pieces of cuts(text)) {
      const got = through(pieces)
      expect(got.out.toString()).toBe(expected)
      expect(got.named).toEqual([named])
    }
  })

  it('one of them after another', () => {
    const one = 'event: endpoint\ndata: /m\n\n'
    for (const pieces of cuts(one + one)) expect(through(pieces).named).toEqual(['/m', '/m'])
  })
})

describe('all else passes byte for byte', () => {
  it.each([
    'data: event: endpoint\ndata: data: /m\n\n',
    'event: message\ndata: {"event":"endpoint","data":"/m"}\n\n',
    'event: endpoint\n\n',
    'event: endpoint\nevent: message\ndata: /m\n\n',
    'event: endpoint \ndata: /m\n\n',
    'event:  endpoint\ndata: /m\n\n',
    ' event: endpoint\ndata: /m\n\n',
    'Event: endpoint\ndata: /m\n\n',
    ': event: endpoint\n: data: /m\n\n',
    'event: endpoint\ndata: /unended\n',
    'event: endpoint\ndata: /unended\r',
    'event: endpoint\ndatum: /m\n\n',
    '',
    '\r\n\r\n\r\r\n\n',
    'data: é\u2028\r\n\r\ndata: \ufeff\n\n',
  ])('%j', (text) => {
    for (const pieces of cuts(text)) {
      const got = through(pieces)
      expect(got.out.toString()).toBe(text)
      expect(got.named).toEqual([])
    }
  })

  it('bytes that are no text', () => {
    const bytes = Buffer.concat([
      Buffer.from('data: '),
      Buffer.from([0xff, 0x00, 0xef, 0xbb]),
      Buffer.from('\n\n'),
    ])
    for (const pieces of cuts(bytes)) expect(through(pieces).out.equals(bytes)).toBe(true)
  })

  it('an event too long to be an endpoint, whose parts look like one', () => {
    const long = `data: ${'x'.repeat(20_000)}\nevent: endpoint\ndata: /m\r\n\r\nevent: endpoint\ndata: /m\n\n`
    const got = through([long.slice(0, 17_000), long.slice(17_000)].map((part) => Buffer.from(part)))
    expect(got.out.toString()).toBe(long.replace(/\/m\n\n$/, 'OURS\n\n'))
    expect(got.named).toEqual(['/m'])
  })
})

describe('nothing waits longer than it must', () => {
  const events = () => createEndpointEvents(() => 'OURS')
  const pushed = (text: string, stream = events()) => Buffer.concat(stream.push(Buffer.from(text))).toString()

  it('comments pass before their line ends, whole events at once', () => {
    expect(pushed(': keep-ali')).toBe(': keep-ali')
    expect(pushed('data: 1\n\ndata: 2\r\n\r\n')).toBe('data: 1\n\ndata: 2\r\n\r\n')
    expect(pushed('data: 1\r\r')).toBe('data: 1\r\r')
  })

  it('of a long event what came passes', () => {
    const stream = events()
    expect(pushed(`data: ${'x'.repeat(9_000)}`, stream)).toBe('')
    expect(pushed('x'.repeat(9_000), stream)).toHaveLength(18_006)
    expect(pushed('x', stream)).toBe('x')
    expect(pushed('\n\ndata: ', stream)).toBe('\n\n')
  })

  it('what the address is refused by passes through', () => {
    const stream = createEndpointEvents(() => {
      throw new Error('elsewhere')
    })
    expect(() => stream.push(Buffer.from('event: endpoint\ndata: /m\n\n'))).toThrow('elsewhere')
  })
})
