import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ResultDownOptions, resultDown } from '../../../src/mcp/resultDown.ts'
import { members, oddValue, response, written } from './messages.ts'

const prefix = 'io.modelcontextprotocol/'
const serverInfo = Buffer.from('{"name":"n","version":"1"}')
const down = (message: string | object, method: string, changed: Partial<ResultDownOptions> = {}) => {
  const options = {
    method,
    serverInfo: undefined,
    hints: { ttlMs: 60, cacheScope: 'public' as const },
    rounds: false,
    ...changed,
  }
  const { head, tail } = resultDown(response(message), options)
  return `${head}<id>${tail}`
}
const result = (members: object, method: string, changed: Partial<ResultDownOptions> = {}) =>
  JSON.parse(down({ jsonrpc: '2.0', id: 1, result: members }, method, changed).replace('<id>', '1')).result

const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']
const uncached = ['tools/call', 'prompts/get', 'completion/complete', 'vendor/x']

describe('resultDown', () => {
  it('X-ENV-05: splits where the id stands', () => {
    expect(down('{"id" : 12 ,"jsonrpc":"2.0","result":{}}', 'prompts/get')).toBe(
      '{"id" : <id> ,"jsonrpc":"2.0","result":{"resultType":"complete"}}',
    )
  })

  it('X-ENV-11: gives an id to a result that came without, and jsonrpc too', () => {
    expect(down('{"result":{}}', 'prompts/get')).toBe(
      '{"id":<id>,"result":{"resultType":"complete"},"jsonrpc":"2.0"}',
    )
    expect(down(' {"jsonrpc":"2.0","result":{}}', 'prompts/get')).toBe(
      '{"id":<id>,"jsonrpc":"2.0","result":{"resultType":"complete"}}',
    )
    expect(down('{"jsonrpc":"1","id":null,"result":{}}', 'prompts/get')).toBe(
      '{"jsonrpc":"2.0","id":<id>,"result":{"resultType":"complete"}}',
    )
  })

  it.each(['"input_required"', '"task"', 'null', '{}', '"complet\\u0065"'])(
    'X-ENV-06: overwrites a resultType of %s',
    (type) => {
      expect(down(`{"jsonrpc":"2.0","id":1,"result":{"resultType":${type},"a":1}}`, 'prompts/get')).toBe(
        '{"jsonrpc":"2.0","id":<id>,"result":{"resultType":"complete","a":1}}',
      )
    },
  )

  it('X-ENV-07, M-BASE-05: a legacy server cannot forge a round', () => {
    const forged = { resultType: 'input_required', inputRequests: { a: {} }, requestState: 's', messages: [] }
    expect(result(forged, 'prompts/get')).toEqual({ resultType: 'complete', messages: [] })
  })

  it('X-ENV-08, M-BASE-17: the upstream’s identity in _meta', () => {
    const meta = { [`${prefix}serverInfo`]: { name: 'n', version: '1' } }
    expect(result({}, 'prompts/get', { serverInfo })._meta).toEqual(meta)
    expect(result({ _meta: 'x' }, 'prompts/get', { serverInfo })._meta).toEqual(meta)
    expect(
      result({ _meta: { a: 1, [`${prefix}serverInfo`]: 'forged' } }, 'prompts/get', { serverInfo })._meta,
    ).toEqual({ a: 1, ...meta })
    expect(result({ _meta: { a: 1, [`${prefix}serverInfo`]: 'forged' } }, 'prompts/get')._meta).toEqual({
      a: 1,
    })
    expect(result({ _meta: [] }, 'prompts/get')).not.toHaveProperty('_meta')
  })

  it('X-ENV-09, X-ENV-10: removes related-task and subscriptionId, keeps other reserved keys', () => {
    const _meta = {
      [`${prefix}related-task`]: { taskId: 't' },
      [`${prefix}model-immediate-response`]: 'm',
      [`${prefix}subscriptionId`]: 1,
    }
    expect(result({ _meta }, 'prompts/get')._meta).toEqual({ [`${prefix}model-immediate-response`]: 'm' })
  })

  it.each(lists)('X-LST-01, M-CACHE-01: hints on %s', (method) => {
    expect(result({}, method)).toEqual({ resultType: 'complete', ttlMs: 60, cacheScope: 'public' })
  })

  it.each([
    ['0', '0'],
    ['1234', '1234'],
    ['1e3', '1e3'],
    ['-1', '60'],
    ['1.5', '60'],
    ['"9"', '60'],
    ['null', '60'],
  ])('M-CACHE-02: a ttlMs of %s becomes %s', (ttlMs, expected) => {
    expect(down(`{"jsonrpc":"2.0","id":1,"result":{"ttlMs":${ttlMs}}}`, 'tools/list')).toContain(
      `"ttlMs":${expected},`,
    )
  })

  it('M-CACHE-03: the scope is the route’s, never the upstream’s', () => {
    expect(
      result({ cacheScope: 'public' }, 'tools/list', { hints: { ttlMs: 0, cacheScope: 'private' } })
        .cacheScope,
    ).toBe('private')
    expect(result({ cacheScope: 7 }, 'tools/list').cacheScope).toBe('public')
  })

  it('M-CACHE-04: nobody caches a result that took rounds', () => {
    expect(
      result({ ttlMs: 99, cacheScope: 'public', contents: [] }, 'resources/read', { rounds: true }),
    ).toEqual({
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      contents: [],
    })
  })

  it('M-CACHE-07: a read is never public', () => {
    expect(result({ contents: [] }, 'resources/read')).toMatchObject({ ttlMs: 60, cacheScope: 'private' })
  })

  it.each(uncached)('M-CACHE-01: no hints on %s', (method) => {
    const own = result({ content: [], ttlMs: 5, cacheScope: 'public' }, method)
    expect(own).not.toHaveProperty('ttlMs')
    expect(own).not.toHaveProperty('cacheScope')
  })

  it('X-LST-02: removes execution from tools, and from nothing else', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","execution":{"taskSupport":"required"},"x": 1.0},{"execution":1},7],"execution":2,"ttlMs":1,"cacheScope":"public","resultType":"complete"}}'
    const expected =
      '{"jsonrpc":"2.0","id":<id>,"result":{"tools":[{"name":"a","x": 1.0},{},7],"execution":2,"ttlMs":1,"cacheScope":"public","resultType":"complete"}}'
    expect(down(text, 'tools/list')).toBe(expected)
    expect(result({ tools: [{ execution: 1 }] }, 'prompts/get').tools).toEqual([{ execution: 1 }])
  })

  it.each(lists)('X-LST-08: no null nextCursor on %s, but any string', (method) => {
    expect(result({ nextCursor: null }, method)).not.toHaveProperty('nextCursor')
    expect(result({ nextCursor: '' }, method).nextCursor).toBe('')
  })

  it('X-RES-01: a tool result always has content', () => {
    expect(result({ structuredContent: 1 }, 'tools/call')).toEqual({
      structuredContent: 1,
      resultType: 'complete',
      content: [],
    })
    expect(result({ content: null }, 'tools/call').content).toEqual([])
    expect(result({ content: [{ type: 'audio' }] }, 'tools/call').content).toEqual([{ type: 'audio' }])
    expect(result({}, 'prompts/get')).not.toHaveProperty('content')
  })

  it('X-RES-05: a task that nobody asked for is a fault of the upstream', () => {
    expect(() => result({ task: { taskId: 't' } }, 'tools/call')).toThrowError(
      expect.objectContaining({ reason: 'upstream_protocol' }),
    )
    expect(result({ task: { taskId: 't' }, content: [] }, 'tools/call').task).toEqual({ taskId: 't' })
  })

  it('refuses tools in which a member occurs twice', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"execution":1,"execution":2}]}}'
    expect(() => down(text, 'tools/list')).toThrowError(
      expect.objectContaining({ reason: 'upstream_protocol' }),
    )
  })

  it('keeps every byte outside of what it owns', () => {
    const owned = {
      resultType: oddValue,
      inputRequests: oddValue,
      requestState: oddValue,
      ttlMs: oddValue,
      cacheScope: oddValue,
    }
    const gone = ['inputRequests', 'requestState', 'ttlMs', 'cacheScope']
    fc.assert(
      fc.property(members(owned), members({}), (all, around) => {
        const kept = all
          .filter(({ name }) => !gone.includes(name))
          .map((member) => (member.name === 'resultType' ? { ...member, value: '"complete"' } : member))
        const expected = kept.some(({ name }) => name === 'resultType')
          ? written(kept)
          : `${written(kept).slice(0, -1)}${kept.length > 0 ? ',' : ''}"resultType":"complete"}`
        const rest = around.length > 0 ? `,${written(around).slice(1)}` : '}'
        expect(down(`{"jsonrpc":"2.0", "id":\t5,"result":${written(all)} ${rest}`, 'prompts/get')).toBe(
          `{"jsonrpc":"2.0", "id":\t<id>,"result":${expected} ${rest}`,
        )
      }),
    )
  })
})
