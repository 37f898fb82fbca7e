/*
 * What a call costs, as ratios within one run: against the server itself and against a proxy that only copies
 * bytes (the floor). Upstream, floor and gateway are processes of their own. Prints medians of five.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Pool } from 'undici'

const here = new URL('.', import.meta.url)
const root = new URL('../../../../../', here)
const REPEATS = 5
const CALLS = 2000

async function start(
  file: URL,
  args: readonly string[],
  port: RegExp,
): Promise<{ process: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [file.pathname, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    const found = port.exec(text)
    if (found !== null) return { process: child, port: Number(found[1]) }
  }
  throw new Error(`${file} did not start: ${text}`)
}

function body(id: number, capabilities: object): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'hello', arguments: {}, _meta: meta },
  })
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'hello',
}

/** Calls `CALLS` times, `width` at once; calls a second and the median of a call in ms. */
async function load(
  port: number,
  width: number,
  capabilities: object,
): Promise<{ perSecond: number; medianMs: number }> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: width })
  const times: number[] = []
  let next = 0
  async function worker(): Promise<void> {
    while (next < CALLS) {
      next += 1
      const began = performance.now()
      const answer = await pool.request({
        path: '/mcp',
        method: 'POST',
        headers: HEADERS,
        body: body(next, capabilities),
      })
      const text = await answer.body.text()
      times.push(performance.now() - began)
      assert.ok(text.includes('hello'), text)
    }
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: width }, worker))
  const seconds = (performance.now() - began) / 1000
  await pool.close()
  times.sort((a, b) => a - b)
  return { perSecond: CALLS / seconds, medianMs: times[CALLS >> 1] ?? 0 }
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0

export async function benchCalls(): Promise<void> {
  const upstreamFile = new URL('upstream.js', here)
  const rows: Record<string, string | number>[] = []
  for (const kind of ['json', 'sse']) {
    const upstream = await start(upstreamFile, [kind], /^(\d+)\n/)
    const url = `http://127.0.0.1:${upstream.port}/mcp`
    const floor = await start(upstreamFile, ['floor', url], /^(\d+)\n/)
    const args = ['serve', '--upstream', url, '--listen', '127.0.0.1:0', '--admin', 'off']
    const gateway = await start(new URL('dist/cli.js', root), args, /127\.0\.0\.1:(\d+)\/mcp/)
    for (const [client, capabilities] of [
      ['plain', {}],
      ['able', { elicitation: {} }],
    ] as const) {
      for (const width of [1, 8, 32]) {
        const runs = { direct: [] as number[], floor: [] as number[], gateway: [] as number[] }
        const waits = { floor: [] as number[], gateway: [] as number[] }
        for (let i = 0; i <= REPEATS; i += 1) {
          const direct = await load(upstream.port, width, capabilities)
          const copied = await load(floor.port, width, capabilities)
          const served = await load(gateway.port, width, capabilities)
          if (i === 0) continue // warm-up
          runs.direct.push(direct.perSecond)
          runs.floor.push(copied.perSecond)
          runs.gateway.push(served.perSecond)
          waits.floor.push(copied.medianMs)
          waits.gateway.push(served.medianMs)
        }
        const perSecond = median(runs.gateway)
        rows.push({
          upstream: kind,
          client,
          'at once': width,
          'calls/s': Math.round(perSecond),
          'of floor': (perSecond / median(runs.floor)).toFixed(2),
          'of direct': (perSecond / median(runs.direct)).toFixed(2),
          'added ms': (median(waits.gateway) - median(waits.floor)).toFixed(3),
          'floor ms': median(waits.floor).toFixed(3),
        })
      }
    }
    for (const each of [upstream, floor, gateway]) {
      each.process.kill()
      await once(each.process, 'exit')
    }
  }
  console.table(rows)
}
