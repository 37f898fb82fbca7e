import { describe, expect, it } from 'vitest'
import { classify, idOf } from '../../../src/mcp/jsonrpc.ts'
import { scanned, thrownBy } from './requests.ts'

const classified = (body: string | object) => {
  const { text, root } = scanned(body)
  return classify(text, root)
}
const withId = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`
const INVALID = { name: 'ProtocolError', code: -32600, status: 400 }

describe('what a message is', () => {
  it.each(['1', '"1"', '-7', '0', '""', '"\\u0031"', '9007199254740993'])(
    'M-BASE-02: a request, whose id %s is kept as written',
    (id) => {
      expect(classified(withId(id))).toEqual({ kind: 'request', id: Buffer.from(id), method: 'ping' })
    },
  )

  it.each(['null', '1.5', '1.0', '1e3', 'true', '{}', '[1]'])(
    'M-BASE-01: the id %s is refused, and not echoed',
    (id) => {
      expect(thrownBy(() => classified(withId(id)))).toMatchObject(INVALID)
      const { text, root } = scanned(withId(id))
      expect(idOf(text, root)).toBeUndefined()
    },
  )

  it('without id it is a notification, without method a response', () => {
    expect(classified('{"jsonrpc":"2.0","method":"n"}')).toEqual({ kind: 'notification', method: 'n' })
    expect(classified('{"jsonrpc":"2.0","id":1,"result":{}}')).toEqual({ kind: 'response' })
    expect(classified('{"jsonrpc":"2.0","error":{"code":1,"message":""}}')).toEqual({ kind: 'response' })
  })

  it.each([
    ['M-HTTP-04: an array', `[${withId('1')}]`],
    ['M-HTTP-04: an empty array', '[]'],
    ['a string', '"ping"'],
    ['null', 'null'],
    ['no jsonrpc', '{"id":1,"method":"ping"}'],
    ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['jsonrpc as a number', '{"jsonrpc":2.0,"id":1,"method":"ping"}'],
    ['neither method nor result', '{"jsonrpc":"2.0","id":1}'],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":7}'],
    ['a request and a response at once', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}'],
    ['params that are an array', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'],
    ['params that are null', '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}'],
  ])('%s is no request', (_, body) => {
    expect(thrownBy(() => classified(body))).toMatchObject(INVALID)
  })

  it('M-BASE-03: the id of what is otherwise no request can still be read', () => {
    const { text, root } = scanned('{"jsonrpc":"1.0","id":"a","method":7}')
    expect(idOf(text, root)?.toString()).toBe('"a"')
  })

  it('members that nobody knows pass', () => {
    expect(classified('{"jsonrpc":"2.0","id":1,"method":"ping","vendor":[1]}').kind).toBe('request')
  })
})
