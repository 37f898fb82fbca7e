import { describe, expect, it } from 'vitest'
import { readEnvelope } from '../../../src/mcp/envelope.ts'
import { meta } from '../../../src/mcp/meta.ts'
import { requestBody, scanned, thrownBy } from './requests.ts'

const read = (body: string | object) => {
  const { text, root } = scanned(body)
  return readEnvelope(text, root)
}
const withMeta = (members: Record<string, unknown>) => read(requestBody('tools/list', {}, members))

describe('the envelope of a request', () => {
  it('M-BASE-14: holds version and capabilities', () => {
    const capabilities = { elicitation: { url: {} }, sampling: {}, experimental: { x: {} }, vendor: 1 }
    const envelope = withMeta({ [meta.clientCapabilities]: capabilities })
    expect(envelope).toEqual({
      version: '2026-07-28',
      capabilities,
      logLevel: undefined,
      progressToken: undefined,
    })
  })

  it.each([
    ['no params', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ['no _meta', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }],
    ['_meta that is no object', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: [] } }],
    ['no version', requestBody('x', {}, { [meta.protocolVersion]: undefined })],
    ['a version that is no string', requestBody('x', {}, { [meta.protocolVersion]: 20260728 })],
    ['no capabilities', requestBody('x', {}, { [meta.clientCapabilities]: undefined })],
    ['capabilities null', requestBody('x', {}, { [meta.clientCapabilities]: null })],
    ['capabilities that are a list', requestBody('x', {}, { [meta.clientCapabilities]: [] })],
    [
      'a capability that is no object',
      requestBody('x', {}, { [meta.clientCapabilities]: { sampling: true } }),
    ],
    [
      'a mode that is no object',
      requestBody('x', {}, { [meta.clientCapabilities]: { elicitation: { url: true } } }),
    ],
  ])('M-BASE-14: %s is -32602 with status 400', (_, body) => {
    expect(thrownBy(() => read(body))).toMatchObject({ name: 'ProtocolError', code: -32602, status: 400 })
  })

  it('M-BASE-15: clientInfo may be missing', () => {
    expect(withMeta({ [meta.clientInfo]: undefined }).version).toBe('2026-07-28')
    expect(withMeta({ [meta.clientInfo]: { name: '', version: '', more: 1 } }).version).toBe('2026-07-28')
  })

  it.each([[null], ['me'], [{ name: 'me' }], [{ name: 'me', version: 1 }], [[]]])(
    'M-BASE-15: clientInfo %j is -32602',
    (info) => {
      expect(thrownBy(() => withMeta({ [meta.clientInfo]: info }))).toMatchObject({
        code: -32602,
        status: 400,
      })
    },
  )

  it.each(['"t"', '7', '-3', '"\\u0031"', '9007199254740993'])(
    'M-PRG-05: the token %s is kept as written',
    (token) => {
      const text = JSON.stringify(requestBody('x', {}, { progressToken: 'TOKEN' })).replace('"TOKEN"', token)
      expect(read(text).progressToken?.toString()).toBe(token)
    },
  )

  it.each(['null', '1.5', '1.0', '1e3', 'true', '{}', '[1]'])('M-PRG-05: the token %s is -32602', (token) => {
    const text = JSON.stringify(requestBody('x', {}, { progressToken: 'TOKEN' })).replace('"TOKEN"', token)
    expect(thrownBy(() => read(text))).toMatchObject({ code: -32602, status: 400 })
  })

  it('M-LOG-02: knows the eight levels and no other', () => {
    for (const level of ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']) {
      expect(withMeta({ [meta.logLevel]: level }).logLevel).toBe(level)
    }
    for (const level of ['INFO', 'warn', '', null, 3]) {
      expect(thrownBy(() => withMeta({ [meta.logLevel]: level }))).toMatchObject({
        code: -32602,
        status: 400,
      })
    }
  })
})
