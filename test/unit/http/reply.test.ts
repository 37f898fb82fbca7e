import { describe, expect, it } from 'vitest'
import { GatewayError, type GatewayReason, ProtocolError, UpstreamRefusal } from '../../../src/errors.ts'
import { errorBody, noteFailure, wireError } from '../../../src/http/reply.ts'
import { ScanError } from '../../../src/mcp/scan.ts'
import { createLog } from '../../../src/observe/log.ts'

describe('what goes over the wire for what is thrown', () => {
  it.each<[GatewayReason, number, number, string]>([
    ['state_rejected', 200, -32602, 'invalid_request_state'],
    ['exchange_lost', 200, -32602, 'exchange_lost'],
    ['invalid_input_response', 200, -32602, 'invalid_input_response'],
    ['declined', 200, -32603, 'declined'],
    ['upstream_unreachable', 502, -32603, 'upstream_unreachable'],
    ['upstream_closed', 502, -32603, 'upstream_closed'],
    ['upstream_protocol', 502, -32603, 'upstream_protocol'],
    ['upstream_timeout', 504, -32603, 'upstream_timeout'],
  ])('%s', (reason, status, code, word) => {
    const error = new GatewayError(reason, 'said', { data: { key: 'k', reason: 'forged' }, inner: 'secret' })
    expect(wireError(error, false)).toEqual({
      status,
      headers: {},
      error: { code, message: 'said', data: { key: 'k', reason: word } },
    })
  })

  it.each<GatewayReason>(['overloaded', 'draining', 'relay_unavailable'])(
    '%s says when to come back',
    (reason) => {
      expect(wireError(new GatewayError(reason, ''), false)).toMatchObject({
        status: 503,
        headers: { 'retry-after': '1' },
        error: { code: -32603, data: { reason } },
      })
      const own = new GatewayError(reason, '', { ownLimit: true, retryAfterS: 7 })
      expect(wireError(own, false)).toMatchObject({ status: 429, headers: { 'retry-after': '7' } })
    },
  )

  it("the protocol's own errors keep their code, status and data", () => {
    const data = { supported: ['a'], requested: 'b' }
    expect(wireError(new ProtocolError(-32022, 'm', 400, data), false)).toEqual({
      status: 400,
      headers: {},
      error: { code: -32022, message: 'm', data },
    })
    expect(wireError(new ProtocolError(-32601, 'm', 404), false).error).toEqual({
      code: -32601,
      message: 'm',
    })
  })

  it('a refusal of the upstream passes with its challenge, in-band without', () => {
    const refusal = new UpstreamRefusal(401, 'Bearer scope="a"')
    const error = { code: -32603, data: { reason: 'upstream_unauthorized' } }
    expect(wireError(refusal, false)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer scope="a"' },
      error,
    })
    expect(wireError(refusal, true)).toMatchObject({ headers: {}, error })
    expect(wireError(new UpstreamRefusal(403, undefined), false)).toMatchObject({
      status: 403,
      headers: {},
      error,
    })
  })

  it.each([
    ['syntax', -32700],
    ['truncated', -32700],
    ['depth', -32600],
    ['duplicate', -32600],
    ['case', -32600],
  ] as const)('a text refused for its %s is %i', (reason, code) => {
    expect(wireError(new ScanError(reason, 3, 'what'), false)).toMatchObject({ status: 400, error: { code } })
  })

  it('anything else is 500 and tells nothing', () => {
    for (const thrown of [new Error('secret'), 'secret', undefined]) {
      expect(wireError(thrown, false)).toEqual({
        status: 500,
        headers: {},
        error: { code: -32603, message: 'internal error' },
      })
    }
  })

  it('M-BASE-02, M-BASE-03: the id goes back byte for byte, and there is none where none could be read', () => {
    const error = { code: 1, message: 'é' }
    expect(errorBody(Buffer.from('"\\u0031"'), error).toString()).toBe(
      '{"jsonrpc":"2.0","id":"\\u0031","error":{"code":1,"message":"é"}}',
    )
    expect(JSON.parse(errorBody(undefined, error).toString())).toEqual({ jsonrpc: '2.0', error })
  })
})

describe('what is logged', () => {
  function logged(thrown: unknown): Record<string, unknown>[] {
    const lines: Record<string, unknown>[] = []
    const log = createLog('debug')
    const record = (level: string) => (fields: object) => void lines.push({ level, ...fields })
    noteFailure(Object.assign(log, { info: record('info'), error: record('error') }), thrown)
    return lines
  }

  it('the words of our own errors, the stack of what nobody foresaw, nothing of the rest', () => {
    const error = new GatewayError('state_rejected', 'm', { inner: 'kid', cause: new Error('why') })
    expect(logged(error)).toEqual([{ level: 'info', reason: 'state_rejected', inner: 'kid', cause: 'why' }])
    const bug = new TypeError('bug')
    expect(logged(bug)).toEqual([{ level: 'error', err: bug }])
    expect(logged(new ProtocolError(-32600, ''))).toEqual([])
  })
})
