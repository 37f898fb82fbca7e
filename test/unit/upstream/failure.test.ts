import { describe, expect, it } from 'vitest'
import { readMessages } from '../../../src/mcp/message.ts'
import { idOf, namesDeadSession, refusedCall } from '../../../src/upstream/failure.ts'

const error = (code: number, message: string, id: unknown = null): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })

function meaning(status: number, body: string, sessionful = true): string {
  const said = refusedCall(7, { status, headers: {}, body: Buffer.from(body) }, sessionful)
  if ('response' in said) return 'response'
  const { notRun, lost } = said.failure
  const reason = 'reason' in said.failure.error ? said.failure.error.reason : said.failure.error.name
  return [reason, lost && 'lost', notRun && 'not run'].filter(Boolean).join(', ')
}

describe('what a refused call means (X-ERR-09, cases 2, 3)', () => {
  it.each([
    [404, '', 'upstream_closed, lost, not run'],
    [404, 'Not Found', 'upstream_closed, lost, not run'],
    [404, error(-32001, 'Session not found'), 'upstream_closed, lost, not run'],
    [404, error(-32600, 'Session not found', 'server-error'), 'upstream_closed, lost, not run'],
    [404, error(-32001, 'Session not found', 7), 'upstream_closed, lost, not run'],
    [404, error(-32601, 'Method not found'), 'response'],
    [404, error(-32602, 'Unknown tool', 7), 'response'],
    [404, 'Unsupported MCP-Protocol-Version', 'upstream_protocol'],
    [400, 'Session not found', 'upstream_closed, lost'],
    [400, error(-32000, 'Bad Request: No valid session ID provided'), 'upstream_closed, lost'],
    [400, error(-32602, 'bad parameters', 7), 'response'],
    [400, 'bad parameters', 'upstream_protocol'],
    [503, '', 'upstream_unreachable'],
    [500, error(-32603, 'oops', 7), 'response'],
    [429, '', 'upstream_unreachable'],
  ])('%i %s: %s', (status, body, expected) => {
    expect(meaning(status, body)).toBe(expected)
  })

  it('without a session none can be lost', () => {
    expect(meaning(404, '', false)).toBe('upstream_protocol')
    expect(meaning(400, 'Session not found', false)).toBe('upstream_protocol')
  })

  it.each([401, 403])('%i is the client’s to see, and nothing ran', (status) => {
    expect(
      refusedCall(7, { status, headers: { 'www-authenticate': 'B' }, body: Buffer.alloc(0) }, true),
    ).toMatchObject({ failure: { error: { status, challenge: 'B' }, notRun: true, lost: false } })
  })
})

it.each([
  ['Session terminated', true],
  ['Unknown session', true],
  ['Missing session ID', true],
  ['the session of parliament was long', false],
  ['invalid parameters', false],
])('a text names a dead session: %s is %s', (text, expected) => {
  expect(namesDeadSession(Buffer.from(text))).toBe(expected)
})

it.each([
  ['7', 7],
  ['"7"', 7],
  ['null', Number.NaN],
  ['""', Number.NaN],
  ['"x"', Number.NaN],
  ['7.0', Number.NaN],
])('the id %s is ours by the number %d', (id, expected) => {
  const [message] = readMessages(Buffer.from(`{"id":${id},"result":{}}`))
  expect(message?.kind === 'response' && idOf(message)).toBe(expected)
})
