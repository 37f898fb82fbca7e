import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestUp } from '../../../src/mcp/requestUp.ts'
import { scan } from '../../../src/mcp/scan.ts'
import { members, oddValue, written } from './messages.ts'

const prefix = 'io.modelcontextprotocol/'
/** What the door reads of a request. */
const doorShape = {
  jsonrpc: true,
  id: true,
  method: true,
  params: {
    name: true,
    uri: true,
    cursor: true,
    arguments: true,
    task: true,
    inputResponses: true,
    requestState: true,
    _meta: {
      progressToken: true,
      [`${prefix}protocolVersion`]: true,
      [`${prefix}clientInfo`]: true,
      [`${prefix}clientCapabilities`]: true,
      [`${prefix}logLevel`]: true,
    },
  },
} as const

const up = (text: string, revision = '2025-11-25', progressToken?: number | string) => {
  const bytes = Buffer.from(text)
  return requestUp(
    { text: bytes, root: scan(bytes, doorShape) },
    { id: 41, progressToken, revision },
  ).toString()
}
const envelope = `"${prefix}protocolVersion":"2026-07-28","${prefix}clientCapabilities":{"roots":{}}`

describe('requestUp', () => {
  it('X-ENV-01: removes the envelope, keeps every other key', () => {
    const text = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t","_meta":{${envelope},"${prefix}clientInfo":{},"traceparent":"00-x","${prefix}other":1,"${prefix}logLevel":"info"}}}`
    expect(up(text)).toBe(
      `{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"t","_meta":{"traceparent":"00-x","${prefix}other":1}}}`,
    )
  })

  it('X-ENV-01, X-ENV-13: a _meta of nothing else goes, params stay', () => {
    expect(up(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{${envelope}}}}`)).toBe(
      '{"jsonrpc":"2.0","id":41,"method":"tools/list","params":{}}',
    )
    expect(up(`{"id":1,"method":"tools/list","params":{"_meta":{${envelope}},"cursor":""}}`)).toBe(
      '{"id":41,"method":"tools/list","params":{"cursor":""}}',
    )
  })

  it('X-ENV-02: our progress token in the place of the client’s, and none without ours', () => {
    const text = `{"id":1,"method":"tools/call","params":{"_meta":{${envelope},"progressToken":"mine","k":1}}}`
    expect(up(text, '2025-11-25', 7)).toBe(
      '{"id":41,"method":"tools/call","params":{"_meta":{"progressToken":7,"k":1}}}',
    )
    expect(up(text)).toBe('{"id":41,"method":"tools/call","params":{"_meta":{"k":1}}}')
    expect(up(`{"id":1,"method":"x","params":{"_meta":{${envelope},"progressToken":1}}}`)).toBe(
      '{"id":41,"method":"x","params":{}}',
    )
  })

  it.each(['tools/call', 'tools/list', 'completion/complete', 'vendor/x'])(
    'X-ENV-03, X-ENV-04: removes round members and task from %s',
    (method) => {
      const text = `{"id":1,"method":"${method}","params":{"inputResponses":{"a":{}},"name":"t","requestState":"s","task":{"ttl":1},"_meta":{${envelope}}}}`
      expect(up(text)).toBe(`{"id":41,"method":"${method}","params":{"name":"t"}}`)
    },
  )

  it('X-RES-06: completion context and reference title only from 2025-06-18 on', () => {
    const text = `{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","title":"T","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":{}},"_meta":{${envelope}}}}`
    const old =
      '{"id":41,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}'
    const later =
      '{"id":41,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","title":"T","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":{}}}}'
    expect(
      ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'].map((revision) => up(text, revision)),
    ).toEqual([old, old, later, later])
  })

  it('leaves a context of other methods alone', () => {
    const text = '{"id":41,"method":"vendor/x","params":{"context":{},"ref":{"title":1}}}'
    expect(up(text, '2024-11-05')).toBe(text)
  })

  it('X-ENV-05: keeps every byte outside of what it owns', () => {
    const owned = {
      arguments: oddValue,
      name: fc.constant('"t"'),
      task: oddValue,
      inputResponses: oddValue,
      requestState: oddValue,
    }
    const gone = ['task', 'inputResponses', 'requestState']
    fc.assert(
      fc.property(members(owned), members({}), (params, tail) => {
        const text = (all: typeof params, id: string) =>
          `{"id":${id},"method":"tools/call", "params" : ${written(all)} ,${written(tail).slice(1)}`
        const message =
          tail.length === 0
            ? (all: typeof params, id: string) =>
                `{"id":${id},"method":"tools/call","params":${written(all)}}`
            : text
        expect(up(message(params, '"client"'))).toBe(
          message(
            params.filter(({ name }) => !gone.includes(name)),
            '41',
          ),
        )
      }),
    )
  })
})
