import { describe, expect, it } from 'vitest'
import { urlElicitations } from '../../../src/mcp/urlElicitations.ts'
import { response } from './messages.ts'

const wanted = (data: unknown, code = -32042) =>
  urlElicitations(response({ id: 1, error: { code, message: 'm', data } }))?.map(
    ({ input, elicitationId }) => ({
      input: JSON.parse(input.toString()),
      elicitationId,
    }),
  )
const entry = { mode: 'url', message: 'm', url: 'https://example.com/a', elicitationId: 'e1' }

describe('urlElicitations', () => {
  it('X-ERR-02: each entry is a URL request without elicitationId', () => {
    const more = { ...entry, elicitationId: 'e2', x: 1, _meta: { progressToken: 1 }, task: {} }
    const params = { mode: 'url', message: 'm', url: 'https://example.com/a' }
    expect(wanted({ elicitations: [entry, more] })).toEqual([
      { input: { method: 'elicitation/create', params }, elicitationId: 'e1' },
      { input: { method: 'elicitation/create', params: { ...params, x: 1 } }, elicitationId: 'e2' },
    ])
  })

  it('X-ERR-02: leaves out entries that are no URL requests', () => {
    const others = [
      { ...entry, mode: 'form' },
      { ...entry, url: 'nowhere' },
      { ...entry, message: 1 },
      'x',
      null,
      [],
      {},
    ]
    expect(wanted({ elicitations: [...others, entry] })).toHaveLength(1)
    expect(wanted({ elicitations: others })).toBeUndefined()
  })

  it('X-ERR-04: is nothing for a malformed error, or another one', () => {
    for (const data of [undefined, null, [], {}, { elicitations: {} }, { elicitations: [] }])
      expect(wanted(data)).toBeUndefined()
    expect(wanted({ elicitations: [entry] }, -32041)).toBeUndefined()
    const broken =
      '{"id":1,"error":{"code":-32042,"message":"","data":{"elicitations":[{"mode":"url","message":"\\x","url":"a:b"}]}}}'
    expect(urlElicitations(response(broken))).toBeUndefined()
  })
})
