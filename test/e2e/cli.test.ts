import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const entry = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const UPSTREAM = 'http://127.0.0.1:9/sse'
const KEY = 'ab'.repeat(32)

/** Runs the program to its end. */
function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, ...args], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
    timeout: 15_000,
  })
  return { code: status, stdout, lines: stderr.split('\n').filter((line) => line !== '') }
}

/** Starts the program in front of an upstream that is not there; `said` waits for a line of its log. */
async function start(...args: string[]) {
  const child = spawn(
    process.execPath,
    [entry, 'serve', '--upstream', UPSTREAM, '--listen', '0', '--admin', 'off', ...args],
    { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = once(child, 'exit').then(([code]) => code)
  const log = createInterface(child.stdout)[Symbol.asyncIterator]()
  async function said(message: string): Promise<Record<string, unknown>> {
    for (;;) {
      const { done, value } = await log.next()
      if (done) throw new Error(`the program ended before it said "${message}"`)
      const line = JSON.parse(value)
      if (line.msg === message) return line
    }
  }
  const { url } = await said('serving')
  return { url: String(url), exit, said, kill: (signal: NodeJS.Signals) => void child.kill(signal) }
}

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'file')
  writeFileSync(file, text)
  return file
}

describe('what is asked wrongly ends with 2 and says why', () => {
  it.each([
    [[], 'a command is missing: see --help'],
    [['sevre'], 'there is no command sevre: see --help'],
    [['serve', '--upsteam', UPSTREAM], 'Unknown option `--upsteam`'],
    [['serve', '--upstream'], 'value is missing'],
    [['keys', 'more'], 'Unused args'],
    [['serve'], 'nothing to serve: give --upstream URL, or --config FILE with routes'],
    [['serve', '--config', '/nowhere/proxy.yaml'], '/nowhere/proxy.yaml: cannot be read'],
    [['serve', '--upstream', 'localhost:3001'], 'routes.0.upstream.url: must be an http:// or https:// URL'],
    [['probe'], 'missing required args'],
    [['probe', 'localhost:3001'], 'URL: must be an http:// or https:// URL'],
    [['probe', 'http://me:secret@127.0.0.1:9/'], 'URL: must not contain credentials: use --header'],
    [['probe', UPSTREAM, '--timeout', '0'], '--timeout: must be a number of milliseconds, at least 1'],
    [['probe', UPSTREAM, '--timeout', 'soon'], '--timeout: must be a number of milliseconds, at least 1'],
    [['probe', UPSTREAM, '--header', 'secret'], "--header: must be 'name: value'"],
    [['probe', UPSTREAM, '--header', 'host: secret'], '--header host: is not a header that can be sent'],
    [['probe', UPSTREAM, '--header', 'a: 1', '--header', 'A: 2'], '--header: a name is there twice'],
    [['inspect', UPSTREAM], 'inspect is not in this version'],
  ])('%j', (args, line) => {
    const { code, stdout, lines } = run(...args)
    expect([code, stdout, lines.length]).toEqual([2, '', 1])
    expect(lines[0]).toContain('mrtr-proxy: ')
    expect(lines[0]).toContain(line)
    expect(lines[0]).not.toContain('secret')
  })

  it('with one line for each problem', () => {
    const { code, lines } = run('serve', '--upstream', UPSTREAM, '--listen', 'x', '--set', 'http.drainMs=-1')
    expect([code, lines]).toEqual([
      2,
      [
        'mrtr-proxy: listen: must be host:port, [ipv6]:port or a port, not "x" (--listen)',
        'mrtr-proxy: http.drainMs: must be at least 0, not -1 (--set)',
      ],
    ])
  })
})

it('ends with 1 and one line when its port is taken', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const address = taken.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const { code, lines } = run('serve', '--upstream', UPSTREAM, '--listen', port, '--admin', 'off')
  expect(code).toBe(1)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain(`127.0.0.1:${port} is in use`)
})

it('tells its version and its help', () => {
  expect(run('--version').stdout).toMatch(/^mrtr-proxy\/\d+\.\d+\.\d+/)
  const { code, stdout } = run('--help')
  expect(code).toBe(0)
  for (const command of ['serve', 'probe', 'demo', 'keys']) expect(stdout).toContain(command)
  const serve = run('serve', '--help')
  expect(serve.code).toBe(0)
  for (const flag of ['--upstream', '--listen', '--admin', '--config', '--set', '--log-level']) {
    expect(serve.stdout).toContain(flag)
  }
})

it('prints a key that the options take, another one each time', async () => {
  const [one, two] = [run('keys').stdout, run('keys').stdout]
  expect(one).toMatch(/^[\w-]{43}\n$/)
  expect(two).not.toBe(one)
  const { kill, exit } = await start('--set', `requestState.keys=["${one.trim()}"]`)
  kill('SIGTERM')
  expect(await exit).toBe(0)
})

it.each(['SIGTERM', 'SIGINT'] as const)('drains on %s and ends with 0', async (signal) => {
  const { url, kill, exit, said } = await start()
  expect((await fetch(url, { method: 'PUT' })).status).toBe(405)
  kill(signal)
  expect(await said('draining; a second signal ends it at once')).toMatchObject({ signal })
  expect(await exit).toBe(0)
})

it('ends at once with 1 on a second signal', async () => {
  const { kill, exit, said } = await start('--set', 'http.lameDuckMs=600000')
  kill('SIGTERM')
  await said('draining; a second signal ends it at once')
  kill('SIGTERM')
  expect(await exit).toBe(1)
})

it('reads its keys again on SIGHUP, and lives on when it cannot', async () => {
  const file = fileOf(KEY)
  const { kill, exit, said } = await start('--set', `requestState.keysFile=${file}`)
  kill('SIGHUP')
  await said('keys read again')
  writeFileSync(file, 'no key')
  kill('SIGHUP')
  const line = await said('the keys could not be read again, the old ones stay')
  expect(JSON.stringify(line)).not.toContain(KEY)
  kill('SIGTERM')
  expect(await exit).toBe(0)
})
