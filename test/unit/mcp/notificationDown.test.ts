import { describe, expect, it } from 'vitest'
import { atLeast, logLevelOf } from '../../../src/mcp/logLevel.ts'
import { notificationDown, progressOf, progressTokenOf } from '../../../src/mcp/notificationDown.ts'
import { incoming, notification } from './messages.ts'

const prefix = 'io.modelcontextprotocol/'
const down = (message: string | object, progressToken?: string) =>
  notificationDown(notification(message), {
    progressToken: progressToken === undefined ? undefined : Buffer.from(progressToken),
  })?.toString()

describe('notificationDown', () => {
  it('X-PRG-01, M-PRG-05: puts the client’s token in the place of ours, byte for byte', () => {
    const text =
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken": 17 ,"progress":1.50,"x":[ ]}}'
    expect(down(text, '"\\u0061"')).toBe(text.replace('17', '"\\u0061"'))
    expect(progressTokenOf(incoming(text))?.toString()).toBe('17')
    expect(progressOf(incoming(text))).toBe(1.5)
  })

  it('M-PRG-01: no progress without a token on both sides, or without a number', () => {
    const progress = (params: object) => ({ method: 'notifications/progress', params })
    expect(down(progress({ progressToken: 1, progress: 1 }))).toBeUndefined()
    expect(down(progress({ progress: 1 }), '1')).toBeUndefined()
    expect(down(progress({ progressToken: 1 }), '1')).toBeUndefined()
    expect(progressTokenOf(incoming({ method: 'x' }))).toBeUndefined()
  })

  it('X-ENV-09: removes related-task and subscriptionId', () => {
    const _meta = { [`${prefix}related-task`]: {}, a: 1, [`${prefix}subscriptionId`]: 1 }
    expect(down({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', _meta } })).toBe(
      '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","_meta":{"a":1}}}',
    )
  })

  it.each([
    'notifications/tools/list_changed',
    'notifications/prompts/list_changed',
    'notifications/resources/list_changed',
    'notifications/resources/updated',
    'notifications/elicitation/complete',
    'notifications/tasks/status',
    'notifications/tasks',
    'notifications/cancelled',
    'notifications/subscriptions/acknowledged',
  ])('M-HTTP-08: %s is never on the stream of a call', (method) => {
    expect(down({ jsonrpc: '2.0', method, params: {} }, '1')).toBeUndefined()
  })

  it('X-SUB-07: unknown ones pass byte for byte', () => {
    const text = '{ "method":"com.example/x", "jsonrpc":"2.0","params":[ 1.0 ],"z":"\\/"}'
    expect(down(text)).toBe(text)
  })

  it('M-HTTP-07: never passes a request or a response', () => {
    expect(notificationDown(incoming('{"id":1,"method":"ping"}'), {})).toBeUndefined()
    expect(notificationDown(incoming('{"id":1,"result":{}}'), {})).toBeUndefined()
  })

  it('makes a sound notification of one without jsonrpc or with a null id', () => {
    expect(down('{"id":null,"method":"a/b"}')).toBe('{"method":"a/b","jsonrpc":"2.0"}')
  })
})

describe('log levels', () => {
  it('X-LOG-02, M-LOG-01: are compared by severity, and unknown ones never suffice', () => {
    expect(logLevelOf(incoming({ method: 'notifications/message', params: { level: 'error' } }))).toBe(
      'error',
    )
    expect(logLevelOf(incoming({ method: 'notifications/message', params: { level: 1 } }))).toBeUndefined()
    expect(atLeast('error', 'warning')).toBe(true)
    expect(atLeast('warning', 'warning')).toBe(true)
    expect(atLeast('info', 'warning')).toBe(false)
    expect(atLeast('loud', 'debug')).toBe(false)
    expect(atLeast(undefined, 'debug')).toBe(false)
    expect(atLeast('error', undefined)).toBe(false)
  })
})
