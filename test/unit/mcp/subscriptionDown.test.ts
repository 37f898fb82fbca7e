import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changeOf } from '../../../src/mcp/change.ts'
import { type IncomingNotification, readMessages } from '../../../src/mcp/message.ts'
import { acknowledgement, subscriptionDown, subscriptionResult } from '../../../src/mcp/subscriptionDown.ts'

const KEY = 'io.modelcontextprotocol/subscriptionId'
const ID = Buffer.from('"s"')

function notification(text: string): IncomingNotification {
  const [message] = readMessages(Buffer.from(text))
  if (message?.kind !== 'notification') throw new Error('no notification')
  return message
}

const down = (text: string, id = ID): string => subscriptionDown(notification(text), id).toString()

describe('M-SUB-02: a notification of a subscription', () => {
  it.each([
    [
      'no params',
      '{"jsonrpc":"2.0","method":"m"}',
      `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"${KEY}":"s"}}}`,
    ],
    [
      'null',
      '{"jsonrpc":"2.0","method":"m","params":null}',
      `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"${KEY}":"s"}}}`,
    ],
    [
      'no _meta',
      '{"jsonrpc":"2.0","method":"m","params":{ "a" : 1.0 }}',
      `{"jsonrpc":"2.0","method":"m","params":{ "a" : 1.0 ,"_meta":{"${KEY}":"s"}}}`,
    ],
    [
      '_meta of another kind',
      '{"jsonrpc":"2.0","method":"m","params":{"_meta":[1]}}',
      `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"${KEY}":"s"}}}`,
    ],
    [
      'an id of the upstream',
      `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"${KEY}":{"x":1},"b":2}}}`,
      `{"jsonrpc":"2.0","method":"m","params":{"_meta":{"${KEY}":"s","b":2}}}`,
    ],
    [
      'an id of null, and no jsonrpc',
      '{"id":null,"method":"m"}',
      `{"method":"m","params":{"_meta":{"${KEY}":"s"}},"jsonrpc":"2.0"}`,
    ],
  ])('%s', (_what, text, expected) => {
    expect(JSON.parse(down(text))).toEqual(JSON.parse(expected))
    expect(down(text).length).toBe(expected.length)
  })

  it.each(['7', '-0', '9007199254740993', '"\\u0061\\"/"'])('keeps the id %s byte for byte', (id) => {
    expect(down('{"jsonrpc":"2.0","method":"m"}', Buffer.from(id))).toContain(`{"${KEY}":${id}}`)
  })

  it('any params are kept, whatever else', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (params) => {
        fc.pre(!('_meta' in params))
        const text = JSON.stringify({ jsonrpc: '2.0', method: 'm', params })
        const { _meta, ...rest } = JSON.parse(down(text)).params
        expect(JSON.stringify(rest)).toBe(JSON.stringify(JSON.parse(text).params))
        expect(_meta).toEqual({ [KEY]: 's' })
      }),
    )
  })
})

it('M-SUB-01, M-SUB-06: first and last message', () => {
  const first = acknowledgement(ID, { toolsListChanged: true, resourceSubscriptions: ['\ud800"\n'] })
  expect(JSON.parse(first.toString())).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      _meta: { [KEY]: 's' },
      notifications: { toolsListChanged: true, resourceSubscriptions: ['\ud800"\n'] },
    },
  })
  expect(first.includes(0x0a)).toBe(false)
  expect(JSON.parse(subscriptionResult(Buffer.from('1'), undefined).toString())).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: { resultType: 'complete', _meta: { [KEY]: 1 } },
  })
})

it.each([
  ['notifications/tools/list_changed', { of: 'list', list: 'tools' }],
  ['notifications/prompts/list_changed', { of: 'list', list: 'prompts' }],
  ['notifications/resources/list_changed', { of: 'list', list: 'resources' }],
  ['notifications/resources/updated', { of: 'resource', uri: 'a:é' }],
  ['notifications/roots/list_changed', undefined],
  ['notifications/progress', undefined],
])('X-SUB-02, X-SUB-03: %s', (method, expected) => {
  const change = changeOf(notification(JSON.stringify({ method, params: { uri: 'a:é' } })))
  if (expected === undefined) expect(change).toBeUndefined()
  else expect(change).toMatchObject(expected)
})

it('X-SUB-03: an update that names no resource is none', () => {
  expect(changeOf(notification('{"method":"notifications/resources/updated"}'))).toBeUndefined()
  expect(
    changeOf(notification('{"method":"notifications/resources/updated","params":{"uri":1}}')),
  ).toBeUndefined()
})
