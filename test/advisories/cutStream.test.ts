import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { type Plain, startPlain } from '../fixtures/plainHttp.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const call: Plain = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
}

/** http-proxy 1.18 lets the client of an upstream that dies in mid-stream wait for ever. */
describe('an upstream that dies in the middle of its answer', () => {
  it.each<[string, Plain, Record<string, string>]>([
    [
      'an event stream of GET',
      { headers: { 'mcp-session-id': 's' } },
      { 'content-type': 'text/event-stream' },
    ],
    ['one that may name an endpoint', {}, { 'content-type': 'text/event-stream' }],
    ['an event stream of POST', call, { 'content-type': 'text/event-stream' }],
    ['a JSON body', call, { 'content-type': 'application/json', 'content-length': '99' }],
  ])('takes the client’s connection with it: %s', async (_name, what, headers) => {
    const upstream = await startRawUpstream({ script: () => true })
    const { url } = await startGateway(upstream.url)
    const answering = startPlain(url, what)
    const request = await upstream.next(() => true)
    request.begin(headers)
    request.write(': begun\n\n')
    const answer = await answering
    await answer.includes('begun')
    request.kill()
    expect(await answer.over).toBe('cut')
  })

  it('and the next client is served', async () => {
    const upstream = await startRawUpstream({
      script: (request, { all }) => {
        if (all().length === 0) request.kill()
        else request.status(200, 'ok')
        return true
      },
    })
    const { url } = await startGateway(upstream.url)
    expect((await startPlain(url, call)).status).toBe(502)
    expect((await startPlain(url, call)).status).toBe(200)
  })
})
