import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { startCli } from '../fixtures/cli.ts'
import { startGateway } from '../fixtures/gateway.ts'
import { firstText } from '../fixtures/json.ts'
import { startLegacySdk } from '../fixtures/legacySdk.ts'
import { answersTo, bodyOf, rawCall, retryOf, startCall, toolCall } from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

/** Repeats a new call until the program no longer takes it, and returns how it refused. */
async function refusal(url: string): Promise<unknown> {
  for (;;) {
    try {
      const answer = await rawCall(url, toolCall('echo', { text: 'new' }))
      if (answer.error !== undefined) return [answer.status, answer.error.data]
    } catch (error) {
      return error
    }
  }
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: running calls finish, waiting ones can be answered, exit 0',
  async (signal) => {
    const upstream = await startLegacySdk('post')
    const program = await startCli(upstream.url)
    const asking = toolCall('ask')
    const round = await rawCall(program.url, asking)
    const slow = startCall(program.url, toolCall('slow', { key: 'gate' }))
    await upstream.next((each) => each.what === 'call' && each.more.name === 'slow')

    program.kill(signal)
    expect(await refusal(program.url)).toEqual([503, { reason: 'draining' }])
    const done = await rawCall(program.url, retryOf(asking, round, answersTo(round)))
    expect(firstText(done.result)).toBe('accept blue')
    upstream.open('gate')
    expect(firstText((await slow.answer).result)).toBe('gate done')
    expect((await program.exit).code).toBe(0)
    expect(upstream.all((each) => each.what === 'delete')).toHaveLength(upstream.sessions.size)
  },
)

it('a connection made before the drain and first used in it is answered, not reset', async () => {
  const upstream = await startLegacySdk('post')
  const { url, gateway } = await startGateway(upstream.url)
  const asking = toolCall('ask')
  const fresh = connect(Number(new URL(url).port), '127.0.0.1')
  await once(fresh, 'connect')
  // The server has accepted the connection above once it answers on a later one.
  const round = await rawCall(url, asking)
  const drained = gateway.drain()
  const body = JSON.stringify(bodyOf(toolCall('echo')))
  const head = 'Host: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n'
  fresh.write(`POST /mcp HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  const [bytes] = await Promise.race([once(fresh, 'data'), once(fresh, 'close')])
  expect(String(bytes)).toMatch(/^HTTP\/1\.1 [45]/)
  fresh.destroy()
  await rawCall(url, retryOf(asking, round, answersTo(round)))
  await drained
})

it('exits 0 at once when nothing runs', async () => {
  const upstream = await startLegacySdk('post')
  const program = await startCli(upstream.url)
  await rawCall(program.url, toolCall('echo', { text: 'hi' }))
  program.kill('SIGTERM')
  expect((await program.exit).code).toBe(0)
})

it('after drainMs a question that nobody answers is cancelled upstream, and the program exits 0', async () => {
  const upstream = await startRawUpstream()
  const program = await startCli(upstream.url, 'http.drainMs=200')
  const call = startCall(program.url, toolCall('any'))
  const request = await upstream.method('tools/call')
  const params = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
  request.say({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params })
  await call.answer
  program.kill('SIGTERM')
  expect((await upstream.answer('q')).message?.result).toEqual({ action: 'cancel' })
  expect((await program.exit).code).toBe(0)
})

it('exits 2 with one line for each problem of its options', async () => {
  await expect(startCli('http://127.0.0.1:1/mcp', 'http.drainMs=soon')).rejects.toThrow(
    /ended with 2: .*drainMs/,
  )
})
