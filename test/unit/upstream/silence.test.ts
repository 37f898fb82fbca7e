import type { ServerResponse } from 'node:http'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createWire, type Wire } from '../../../src/upstream/wire.ts'
import { listening } from '../../fixtures/listening.ts'

function get(wire: Wire, url: URL) {
  let headed = (_status: number): void => undefined
  let over = (_outcome: string): void => undefined
  const head = new Promise<number>((resolve) => {
    headed = resolve
  })
  const end = new Promise<string>((resolve) => {
    over = resolve
  })
  const chunks: Buffer[] = []
  wire.send(
    { method: 'GET', url, headers: {} },
    {
      head: headed,
      chunk: (bytes) => chunks.push(bytes),
      end: () => over(Buffer.concat(chunks).toString()),
      error: (cause) => over(cause.message),
    },
  )
  return { head, end }
}

it('cases 34: an upstream may be silent for a quarter of an hour, before its head and after it', async () => {
  // From the first timer of the HTTP client on: it keeps one for all of its timeouts.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const answers = new Map<string | undefined, ServerResponse>()
  const server = await listening((request, response) => {
    if (request.url === '/begun') response.writeHead(200).flushHeaders()
    answers.set(request.url, response)
  })
  const wire = createWire(new URL(server.origin))
  onTestFinished(async () => {
    await wire.close()
    await server.close()
  })
  const silent = get(wire, new URL('/silent', server.origin))
  const begun = get(wire, new URL('/begun', server.origin))
  expect(await begun.head).toBe(200)
  while (!answers.has('/silent')) await new Promise((resolve) => setImmediate(resolve))
  await vi.advanceTimersByTimeAsync(900_000)
  for (const answer of answers.values()) answer.end('late')
  expect(await Promise.all([silent.end, begun.end])).toEqual(['late', 'late'])
})
