import { describe, expect, it } from 'vitest'
import { type ErrorDownOptions, errorDown } from '../../../src/mcp/errorDown.ts'
import { response } from './messages.ts'

const down = (error: string | object, changed: Partial<ErrorDownOptions> = {}) => {
  const text = typeof error === 'string' ? error : JSON.stringify(error)
  const { head, tail, code, status } = errorDown(response(`{"jsonrpc":"2.0","id":1,"error":${text}}`), {
    method: 'tools/call',
    ...changed,
  })
  const message = JSON.parse(`${head}"c"${tail}`)
  expect(message.id).toBe('c')
  expect(message.error.code).toBe(code)
  return { text: `${head}<id>${tail}`, error: message.error, code, status }
}

describe('errorDown', () => {
  it.each(['tools/call', 'prompts/list', 'resources/read'])(
    'X-ERR-01, M-BASE-07: -32002 becomes -32602 on %s',
    (method) => {
      const data = { uri: 'file:///x', more: 1 }
      expect(down({ code: -32002, message: 'gone', data }, { method }).error).toEqual({
        code: -32602,
        message: 'gone',
        data,
      })
    },
  )

  it('M-RES-01: names the missing resource if the upstream did not', () => {
    const read = { method: 'resources/read', uri: 'file:///"x"' }
    expect(down({ code: -32002, message: 'gone' }, read).error.data).toEqual({ uri: 'file:///"x"' })
    expect(down({ code: -32002, message: 'gone', data: null }, read).error.data).toEqual({
      uri: 'file:///"x"',
    })
    expect(down({ code: -32002, message: 'gone', data: 'own' }, read).error.data).toBe('own')
    expect(down({ code: -32603, message: 'other' }, read).error).not.toHaveProperty('data')
  })

  it.each([-32020, -32021, -32022, -32042, -32099])(
    'X-ERR-04, X-ERR-06, M-BASE-06: %i becomes -32603 with the code in data',
    (code) => {
      const message = 'kept'
      expect(down({ code, message }).error).toEqual({ code: -32603, message, data: { upstreamCode: code } })
      expect(down({ code, message, data: { a: 1, upstreamCode: 'x' } }).error.data).toEqual({
        a: 1,
        upstreamCode: code,
      })
      expect(down({ code, message, data: [1] }).error.data).toEqual({ upstreamCode: code, upstreamData: [1] })
    },
  )

  it.each([-1, 1, -32000, -32001, -32019, -32100, -32600, -32602, -32700])(
    'X-ERR-08, M-BASE-08: %i passes byte for byte',
    (code) => {
      const error = `{"code": ${code} , "x":1.0,"message":"\\u00e9","data":{"requestState":[ ]}}`
      expect(down(error)).toMatchObject({ text: `{"jsonrpc":"2.0","id":<id>,"error":${error}}`, status: 200 })
    },
  )

  it('M-BASE-03: an error has a message', () => {
    expect(down({ code: 1 }).error).toEqual({ code: 1, message: 'the upstream gave no message' })
    expect(down({ code: 1, message: null }).error.message).toBe('the upstream gave no message')
  })

  it('M-BASE-09: never adds a reason', () => {
    for (const code of [-32002, -32042, -32603, 5]) {
      expect(down({ code, message: 'm', data: {} }).error.data).not.toHaveProperty('reason')
    }
  })

  it.each([
    ['tools/list', 404],
    ['prompts/list', 404],
    ['resources/list', 404],
    ['resources/templates/list', 404],
    ['completion/complete', 404],
    ['tools/call', 200],
    ['prompts/get', 200],
    ['resources/read', 200],
  ])('M-HTTP-12: -32601 on %s is %i', (method, status) => {
    expect(down({ code: -32601, message: 'no' }, { method }).status).toBe(status)
    expect(down({ code: -32602, message: 'no' }, { method }).status).toBe(200)
  })

  it('X-ENV-11: gives an id to an error that came without', () => {
    const { head, tail } = errorDown(response('{"jsonrpc":"2.0","error":{"code":1,"message":""}}'), {
      method: 'tools/call',
    })
    expect(`${head}9${tail}`).toBe('{"id":9,"jsonrpc":"2.0","error":{"code":1,"message":""}}')
  })
})
