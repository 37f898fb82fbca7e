import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../src/errors.ts'
import { codeOf, readMessages } from '../../../src/mcp/message.ts'
import { incoming, response } from './messages.ts'

const read = (text: string) => readMessages(Buffer.from(text))

describe('readMessages', () => {
  it('tells requests, notifications and responses apart', () => {
    expect(incoming('{"jsonrpc":"2.0","id":7,"method":"ping"}')).toMatchObject({
      kind: 'request',
      method: 'ping',
    })
    expect(incoming('{"jsonrpc":"2.0","method":"x/y"}')).toMatchObject({
      kind: 'notification',
      method: 'x/y',
    })
    expect(incoming('{"jsonrpc":"2.0","id":1,"result":{}}')).toMatchObject({ kind: 'response', ok: true })
    expect(incoming('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":""}}')).toMatchObject({ ok: false })
  })

  it.each(['7', '"7"', '9007199254740993', '"\\u0061"'])('M-BASE-02: keeps the bytes of the id %s', (id) => {
    const message = incoming(`{"jsonrpc":"2.0","id": ${id} ,"result":{}}`)
    expect(message.kind === 'response' && message.id?.toString()).toBe(id)
  })

  it.each(['', '"id":null,', '"id":[1],', '"id":true,'])(
    'L-BASE-04: takes a response with %s as one without id',
    (id) => {
      expect(response(`{${id}"result":{}}`).id).toBeUndefined()
    },
  )

  it('takes a notification with a null id, and messages without jsonrpc', () => {
    expect(incoming('{"id":null,"method":"a"}').kind).toBe('notification')
  })

  it('L-BASE-02: splits a batch in order, each element with its own bytes', () => {
    const all = read(' [{"method":"a"} , {"id":2,"result":{"x":1.0}},{"id":"3","method":"ping"}]')
    expect(all.map((message) => message.text.toString())).toEqual([
      '{"method":"a"}',
      '{"id":2,"result":{"x":1.0}}',
      '{"id":"3","method":"ping"}',
    ])
    expect(all.map(({ kind }) => kind)).toEqual(['notification', 'response', 'request'])
    expect(all[1]?.root.end).toBe(all[1]?.text.length)
  })

  it.each([
    ['an empty batch', '[]'],
    ['a batch of numbers', '[1]'],
    ['no JSON', '{"id":1,'],
    ['a number', '1'],
    ['neither result nor error', '{"id":1}'],
    ['both', '{"id":1,"result":{},"error":{"code":1,"message":""}}'],
    ['a result that is no object', '{"id":1,"result":[]}'],
    ['a null result', '{"id":1,"result":null}'],
    ['an error without code', '{"id":1,"error":{"message":"x"}}'],
    ['an error with half a code', '{"id":1,"error":{"code":1.5,"message":"x"}}'],
    ['an error with a code in words', '{"id":1,"error":{"code":"1","message":"x"}}'],
    ['a request with a result', '{"id":1,"method":"a","result":{}}'],
    ['a request with an odd id', '{"id":{},"method":"a"}'],
    ['a method that is no string', '{"id":1,"method":1}'],
    ['a method with an illegal escape', '{"id":1,"method":"\\x"}'],
    ['a member twice', '{"id":1,"result":{"resultType":"a","resultType":"b"}}'],
  ])('refuses %s', (_, text) => {
    expect(() => read(text)).toThrowError(GatewayError)
    expect(() => read(text)).toThrowError(expect.objectContaining({ reason: 'upstream_protocol' }))
  })

  it('reads the code of an error', () => {
    expect(codeOf(incoming('{"id":1,"error":{"code":-32042,"message":""}}'))).toBe(-32042)
    expect(codeOf(incoming('{"id":1,"result":{}}'))).toBeUndefined()
  })
})

it.each([
  ['a line break inside a string', Buffer.from('{"id":1,"result":{"x":"a\nb"}}')],
  [
    'bytes that are no UTF-8',
    Buffer.concat([Buffer.from('{"id":1,"result":{"x":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}}')]),
  ],
])('M-BASE-01: does not take %s, which no client could read', (_name, text) => {
  expect(() => readMessages(text)).toThrow(expect.objectContaining({ reason: 'upstream_protocol' }))
})

it('takes line breaks between tokens', () => {
  expect(readMessages(Buffer.from('{\n"id": 1,\r\n"result": {}\n}\n'))).toHaveLength(1)
})
