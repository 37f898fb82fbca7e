import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startEverything } from '../fixtures/everything.ts'
import { at, type Json, parseObject } from '../fixtures/json.ts'
import { type LegacyMode, startLegacySdk } from '../fixtures/legacySdk.ts'
import { freePort, listening } from '../fixtures/listening.ts'
import { startModernSdk } from '../fixtures/modernSdk.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'

const entry = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** Runs `mrtr-proxy probe` as a process of its own. */
async function run(...args: string[]) {
  const child = start(...args)
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  await once(child, 'close')
  return { code: child.exitCode, stdout, stderr }
}

function start(...args: string[]) {
  const child = spawn(process.execPath, [entry, 'probe', ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function facts(...args: string[]): Promise<Json & { code: number | null }> {
  const { code, stdout, stderr } = await run(...args, '--json')
  expect(stderr).toBe('')
  return { ...parseObject(stdout), code }
}

const textOf = (value: unknown): string => [value].flat().join('\n')

describe.each(['streamableHttp', 'sse'] as const)('server-everything over %s', (mode) => {
  it('works, asks for roots on the stream, and its tools are shown', async () => {
    const { url, stop } = await startEverything(mode)
    onTestFinished(stop)
    const seen = await facts(url)
    expect(seen).toMatchObject({
      code: 0,
      usable: true,
      transport: mode === 'sse' ? 'http+sse' : 'streamable-http',
      era: 'legacy',
      revision: '2025-11-25',
      server: { name: 'mcp-servers/everything' },
      sessions: true,
      stream: true,
      answers: mode === 'sse' ? null : 'event-stream',
      asked: [{ method: 'roots/list', stream: 'GET' }],
      broadcasts: null,
      problems: [],
    })
    // What it has for clients that can be asked is there too.
    expect(at(seen, 'lists', 'tools', 'names')).toContain('trigger-elicitation-request')
    expect(at(seen, 'capabilities', 'declared', 'tasks')).toBeDefined()
    expect(at(seen, 'capabilities', 'seen', 'tasks')).toBeUndefined()
    expect(textOf(seen.remarks)).toContain('It declares tasks')

    const { code, stdout } = await run(url)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^http:\S+ {2}works, with 1 remark\n/)
    expect(stdout).toMatch(/^tools +\d+: echo, /m)
    expect(stdout).toMatch(/^asks +roots\/list on the (GET|SSE) stream$/m)
    expect(stdout).toMatch(/^tasks +list, cancel, requests +–$/m)
    expect(stdout).not.toContain('\u001b')
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
  })
})

describe.each<LegacyMode>(['post', 'get', 'json', 'sse'])('a server of SDK v1 that talks %s', (mode) => {
  it('works, calls nothing, and every session is ended', async () => {
    const server = await startLegacySdk(mode)
    const seen = await facts(server.url, '--header', 'Authorization: Bearer let-me-in')
    expect(seen).toMatchObject({
      code: 0,
      transport: mode === 'sse' ? 'http+sse' : 'streamable-http',
      sessions: true,
      stream: true,
      answers: { post: 'event-stream', get: 'event-stream', json: 'json', sse: null }[mode],
      asked: [],
      lists: { prompts: { count: 1, names: ['greet'], more: false, failure: null } },
      secondSessionFailure: null,
    })
    expect(textOf(seen.remarks).includes('as JSON alone')).toBe(mode === 'json')
    expect(server.all((each) => each.what === 'call')).toEqual([])
    expect(server.sessions.size).toBe(2)
    for (const session of server.sessions) {
      const end = mode === 'sse' ? 'closed' : 'delete'
      await server.next((each) => each.what === end && each.session === session)
    }
    expect(server.live()).toBe(0)
    const opened = server.all((each) => each.what === 'opened')
    expect(opened.map((each) => each.authorization)).toEqual(Array(2).fill('Bearer let-me-in'))
  })
})

it('says that a server without sessions cannot hear answers, and one without a stream announces nothing', async () => {
  const raw = await startRawUpstream({
    sessionIds: false,
    stream: false,
    version: '2025-03-26',
    capabilities: { tools: { listChanged: true } },
    script(request) {
      if (request.method !== 'tools/list') return false
      request.result({ tools: [{ name: 'a\u001b[31mb' }, {}] })
      return true
    },
  })
  const seen = await facts(raw.url)
  expect(seen).toMatchObject({ code: 0, sessions: false, stream: false, answers: 'json' })
  expect(seen.capabilities).toEqual({ declared: { tools: { listChanged: true } }, seen: { tools: {} } })
  const remarks = textOf(seen.remarks)
  expect(remarks).toContain('It keeps no sessions')
  expect(remarks).toContain('can ask nothing')
  expect(remarks).toContain('although it declares some')
  expect(remarks).toContain('Revision 2025-03-26 has no elicitation')
  expect(raw.all((each) => each.verb === 'DELETE')).toEqual([])
  expect((await run(raw.url)).stdout).toMatch(/^tools +2: a\ufffd\[31mb, \(no name\)$/m)
})

it('reads the first pages of a long list and tells of a list that fails', async () => {
  const raw = await startRawUpstream({
    capabilities: { tools: {}, prompts: {} },
    script(request) {
      if (request.method === 'prompts/list') request.error({ code: -32000, message: 'the shelf is empty' })
      else if (request.method !== 'tools/list') return false
      else {
        const page = Number(at(request.message, 'params', 'cursor') ?? 0)
        request.result({ tools: [{ name: `tool-${page}` }], nextCursor: String(page + 1) })
      }
      return true
    },
  })
  const seen = await facts(raw.url)
  expect(seen.code).toBe(0)
  expect(at(seen, 'lists', 'tools')).toEqual({
    count: 4,
    names: ['tool-0', 'tool-1', 'tool-2', 'tool-3'],
    more: true,
    failure: null,
  })
  expect(textOf(seen.remarks)).toContain('prompts/list: error -32000: the shelf is empty')
})

it('tells pings and questions by their stream, refuses what it cannot answer, and sees who broadcasts', async () => {
  const id = 'c0ffee00-0000-4000-8000-000000000001'
  const raw = await startRawUpstream({
    capabilities: { tools: {} },
    script(request, upstream) {
      if (request.method === 'tools/list') {
        request.say({ jsonrpc: '2.0', id: 'p', method: 'ping' })
        request.say({ jsonrpc: '2.0', id: 'e', method: 'elicitation/create', params: {} })
        request.result({ tools: [] })
        return true
      }
      const second = request.session === upstream.sessions[1] && request.session !== undefined
      if (request.method === 'notifications/initialized' && second) {
        for (const session of upstream.sessions)
          upstream.say({ jsonrpc: '2.0', id, method: 'roots/list' }, session)
      }
      return false
    },
  })
  const seen = await facts(raw.url)
  expect(seen).toMatchObject({ code: 0, broadcasts: true, answers: 'event-stream' })
  expect(seen.asked).toEqual([
    { method: 'ping', stream: 'POST' },
    { method: 'elicitation/create', stream: 'POST' },
    { method: 'roots/list', stream: 'GET' },
  ])
  expect(textOf(seen.remarks)).toContain('to all sessions')
  expect((await raw.answer('p')).message).toMatchObject({ result: {} })
  expect((await raw.answer('e')).message).toMatchObject({ error: { code: -32601 } })
  expect((await raw.answer(id)).message).toMatchObject({ result: { roots: [] } })
})

it('tells that a second session is not to be had', async () => {
  let opened = 0
  const raw = await startRawUpstream({
    capabilities: {},
    script(request) {
      if (request.method !== 'initialize' || ++opened === 1) return false
      request.status(429, 'one at a time')
      return true
    },
  })
  const seen = await facts(raw.url)
  expect(seen).toMatchObject({ code: 0, sessions: true })
  expect(seen.secondSessionFailure).toContain('429')
  expect(textOf(seen.remarks)).toContain('A second session could not be opened')
})

it('shows a modern server as its clients see it', async () => {
  const modern = await startModernSdk()
  const seen = await facts(modern.url)
  expect(seen).toMatchObject({
    code: 0,
    era: 'modern',
    transport: 'streamable-http',
    revision: '2026-07-28',
    server: { name: 'modern-fixture', version: '2.0.0' },
    sessions: false,
    lists: { tools: { count: 2, names: ['echo', 'ask'] }, prompts: null },
  })
  expect(modern.requests).not.toContain('initialize')
  expect(modern.requests).not.toContain('tools/call')
  expect((await run(modern.url)).stdout).toMatch(/^era +modern$/m)
})

describe('what cannot be used ends with 1 and says why', () => {
  it('a server that wants credentials, with its challenge and without ours', async () => {
    const secret = 'wrong-token-1234'
    const server = await listening((request, response) => {
      const challenge = `Bearer realm="${request.headers.authorization}", resource_metadata="https://as.test/x"`
      response.writeHead(401, { 'www-authenticate': challenge }).end(request.headers.authorization)
    })
    onTestFinished(server.close)
    const args = [`${server.origin}/mcp?key=query-secret-5`, '--header', `authorization: Bearer ${secret}`]
    const seen = await facts(...args)
    expect(seen).toMatchObject({ code: 1, usable: false, era: null, discover: 'refused' })
    expect(at(seen, 'refused', 'status')).toBe(401)
    expect(at(seen, 'refused', 'challenge')).toContain('resource_metadata="https://as.test/x"')
    expect(textOf(seen.problems)).toContain('It answers 401 and asks for: Bearer realm=')
    const { code, stdout } = await run(...args)
    expect(code).toBe(1)
    for (const text of [stdout, JSON.stringify(seen)]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain('query-secret')
    }
  })

  it('an address where nothing listens', async () => {
    const { code, stdout } = await run(`http://127.0.0.1:${await freePort()}/mcp`)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^http:\S+ {2}cannot be used\n/)
    expect(stdout).toContain('is the server running')
    expect(stdout).toMatch(/^ {2}POST http:\S+ initialize → ECONNREFUSED$/m)
  })

  it('a port that speaks something else', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.end('220 mail.test ESMTP\r\n')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const { code, stdout } = await run(`http://127.0.0.1:${port}/mcp`)
    expect(code).toBe(1)
    expect(stdout).toContain('does not answer as a web server')
    expect(stdout).not.toContain('undefined')
  })

  it.each([200, 404])('a web page with status %i', async (status) => {
    const server = await listening((_, response) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')
    })
    onTestFinished(server.close)
    const seen = await facts(`${server.origin}/wrong`)
    expect(seen).toMatchObject({ code: 1, usable: false })
    expect(textOf(seen.problems)).toMatch(
      status === 200 ? /at \/wrong is a web page/ : /Nothing is at \/wrong/,
    )
    expect(seen.tried).toContainEqual({
      verb: 'POST',
      url: `${server.origin}/wrong`,
      method: 'initialize',
      status,
      type: 'text/html',
      location: null,
      failure: null,
    })
  })

  it('an address that sends elsewhere', async () => {
    const server = await listening((_, response) => {
      response.writeHead(301, { location: 'https://other.test/mcp' }).end()
    })
    onTestFinished(server.close)
    const { code, stdout } = await run(server.origin)
    expect(code).toBe(1)
    expect(stdout).toContain('It redirects to https://other.test/mcp')
  })

  it('a server that says nothing, as soon as the time is over', async () => {
    const server = await listening(() => undefined)
    onTestFinished(server.close)
    const began = performance.now()
    const seen = await facts(`${server.origin}/mcp`, '--timeout', '300')
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(seen.code).toBe(1)
    expect(textOf(seen.problems)).toContain('No answer within 300 ms')
    expect(textOf(seen.problems)).toContain('--timeout')
  })

  it('a server none of whose lists can be read', async () => {
    const raw = await startRawUpstream({
      capabilities: { tools: {} },
      script(request) {
        if (request.method !== 'tools/list') return false
        request.status(401, '', { 'www-authenticate': 'Bearer' })
        return true
      },
    })
    const seen = await facts(raw.url)
    expect(seen.code).toBe(1)
    expect(textOf(seen.problems)).toContain('tools/list: the upstream answered 401 and asks for: Bearer')
    for (const session of raw.sessions)
      await raw.next((each) => each.verb === 'DELETE' && each.session === session)
  })
})

it('leaves no session behind when it is interrupted', async () => {
  const raw = await startRawUpstream({ capabilities: { tools: {} } })
  const child = start(raw.url)
  const list = await raw.method('tools/list')
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  expect(code).toBe(130)
  await raw.next((each) => each.verb === 'DELETE' && each.session === list.session)
})

it('ends although the server takes no DELETE', async () => {
  const raw = await startRawUpstream({ capabilities: {}, script: (request) => request.verb === 'DELETE' })
  const began = performance.now()
  expect((await facts(raw.url)).code).toBe(0)
  expect(performance.now() - began).toBeLessThan(4_000)
})
