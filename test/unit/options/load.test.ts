import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Flags } from '../../../src/options/flags.ts'
import { loadOptions, OptionsError } from '../../../src/options/load.ts'

const UPSTREAM = 'http://127.0.0.1:3001/sse'
const KEY = 'ab'.repeat(32)
const OTHER_KEY = 'cd'.repeat(32)

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'options-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'proxy.yaml')
  writeFileSync(file, text)
  return file
}

const load = (text: string, flags: Flags = {}, env: NodeJS.ProcessEnv = {}) =>
  loadOptions({ file: fileOf(text), env, flags })

const withFlags = (...set: string[]) => loadOptions({ env: {}, flags: { upstream: UPSTREAM, set } })

/** The problems, with the file's folder taken off. */
function problemsOf(act: () => unknown): string[] {
  try {
    act()
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    return error.problems.map((line) => line.replace(/[^\s(]*\/proxy\.yaml/, 'proxy.yaml'))
  }
  throw new Error('the options were accepted')
}

it('M-HTTP-03: has every default of an upstream alone, at /mcp', () => {
  const options = withFlags()
  expect(options).toMatchObject({
    listen: '127.0.0.1:8808',
    admin: '127.0.0.1:8809',
    tls: { cert: null, key: null, clientCa: null },
    principal: { from: 'authorization' },
    requestState: { keys: [], keysFile: null },
    cluster: { redis: null, peer: '127.0.0.1:0', advertise: null },
    limits: { maxConnections: 2000, maxConcurrentPerPrincipal: 256, maxPerAddress: 256 },
    http: {
      allowedHosts: [],
      allowedOrigins: [],
      corsOrigins: [],
      trustedProxies: [],
      maxBodyBytes: 4194304,
      drainMs: 30000,
      lameDuckMs: 0,
    },
  })
  expect(options.routes).toEqual([
    {
      path: '/mcp',
      publicUrl: null,
      upstream: {
        url: UPSTREAM,
        transport: 'auto',
        era: 'auto',
        headers: {},
        forwardHeaders: ['authorization'],
        requestTimeoutMs: 600000,
        maxTimeoutMs: 1800000,
        ca: null,
        cert: null,
        key: null,
      },
      legacyClients: 'pass',
      sessions: {
        max: 4096,
        maxPerPrincipal: 256,
        maxOpening: 8,
        waitMs: 5000,
        idleTtlMs: 300000,
        affinity: 'none',
        reuse: true,
        anonymous: 'auto',
        capabilities: 'mirror',
      },
      exchange: {
        inputTtlMs: 600000,
        settleMs: 15,
        rootsQuietMs: 250,
        graceMs: 2000,
        holdMs: 50000,
        holdTtlMs: 30000,
        maxSuspended: 3072,
        maxSuspendedPerPrincipal: 192,
        replay: 'annotated',
        replayTools: {},
      },
      cache: { ttlMs: 0, scope: 'private', memoryMs: 0 },
      tasks: { dialect: 'extension', promoteAfterMs: 0, withoutExtension: 'drive' },
    },
  ])
})

it('lays the environment over the file and the command line over both', () => {
  const text = `
listen: 127.0.0.1:1
requestState: { keysFile: /nowhere }
routes:
  - path: /files
    upstream: { url: http://one.example/mcp, transport: http+sse }
    exchange: { holdMs: 1000 }
`
  const flags = { upstream: UPSTREAM, listen: '4000', admin: 'off', set: ['routes.0.exchange.holdMs=0'] }
  const options = load(text, flags, { MRTR_PROXY_KEYS: `${KEY}, ${OTHER_KEY}` })
  expect(options).toMatchObject({ listen: '127.0.0.1:4000', admin: 'off' })
  expect(options.requestState).toEqual({ keys: [KEY, OTHER_KEY], keysFile: null })
  expect(options.routes[0]).toMatchObject({
    path: '/files',
    upstream: { url: UPSTREAM, transport: 'http+sse' },
    exchange: { holdMs: 0 },
  })
})

it('reads a value of --set as YAML, and as text where it is none', () => {
  const { listen, http, routes } = withFlags(
    'listen=[::1]:9000',
    'http.allowedHosts=[a.example, b.example]',
    'routes.0.sessions.reuse=false',
    'http.drainMs=5',
  )
  expect([listen, http.allowedHosts, http.drainMs, routes[0]?.sessions.reuse]).toEqual([
    '[::1]:9000',
    ['a.example', 'b.example'],
    5,
    false,
  ])
})

it('takes a section with nothing under it as one left out', () => {
  const options = load(
    `routes:\n  - upstream: { url: ${UPSTREAM} }\n    sessions:\n    exchange:\nhttp:\nprincipal:\n`,
  )
  expect(options.routes[0]?.sessions.max).toBe(4096)
  expect(options.http.drainMs).toBe(30_000)
})

it('is frozen through and through', () => {
  const options = withFlags('http.allowedHosts=[a.example]')
  expect(Reflect.set(options.http, 'drainMs', 1)).toBe(false)
  expect(Reflect.set(options.routes[0]?.sessions ?? {}, 'max', 1)).toBe(false)
  expect(Reflect.set(options.http.allowedHosts, 0, 'x')).toBe(false)
  expect(Reflect.set(options, 'listen', 'x')).toBe(false)
})

it('tells every problem with its path, what it found, what is allowed, and the line', () => {
  const text = `listen: here
routes:
  - path: mcp
    upstream:
      url: ftp://one.example
    sessions:
      max: many
      reuse: perhaps
      affinity: sticky
    exchange: { settleMs: -1, graceMs: 3000000000, holdMs: 1.5 }
sessoins:
  max: 1
`
  expect(problemsOf(() => load(text)).sort()).toEqual([
    'listen: must be host:port, [ipv6]:port or a port, not "here" (proxy.yaml:1)',
    'routes.0.exchange.graceMs: must be at most 2147483647, not 3000000000 (proxy.yaml:10)',
    'routes.0.exchange.holdMs: must be an integer, not 1.5 (proxy.yaml:10)',
    'routes.0.exchange.settleMs: must be at least 0, not -1 (proxy.yaml:10)',
    'routes.0.path: must start with / and contain no ?, # or white space, not "mcp" (proxy.yaml:3)',
    'routes.0.sessions.affinity: must be one of none, context, not "sticky" (proxy.yaml:9)',
    'routes.0.sessions.max: must be a number, not "many" (proxy.yaml:7)',
    'routes.0.sessions.reuse: must be true or false, not "perhaps" (proxy.yaml:8)',
    'routes.0.upstream.url: must be an http:// or https:// URL, not "ftp://one.example" (proxy.yaml:5)',
    'sessoins: there is no such option (proxy.yaml:11)',
  ])
})

it('names the command line or the environment where the value came from there', () => {
  const text = `listen: 127.0.0.1:1\nhttp: { drainMs: 5 }\nroutes:\n  - upstream: { url: ${UPSTREAM} }\n`
  const flags = { listen: 'x', logLevel: 'loud', set: ['http.drainMs=-1'] }
  expect(problemsOf(() => load(text, flags, { MRTR_PROXY_KEYS: 'short' }))).toEqual([
    'listen: must be host:port, [ipv6]:port or a port, not "x" (--listen)',
    'logLevel: must be one of silent, fatal, error, warn, info, debug, trace, not "loud" (--log-level)',
    'requestState.keys.0: must be 32 bytes, as 64 hex digits or 43 characters of base64url (MRTR_PROXY_KEYS)',
    'http.drainMs: must be at least 0, not -1 (--set)',
  ])
})

it.each([
  [
    'a file that is not there',
    () => loadOptions({ file: '/nowhere/proxy.yaml', env: {}, flags: {} }),
    'cannot be read (ENOENT)',
  ],
  ['no YAML', () => load('routes: [', {}), 'proxy.yaml:1: not YAML'],
  ['an option twice', () => load('listen: 1\nlisten: 2\n'), 'proxy.yaml:2: the same option twice'],
  ['a list', () => load('- listen'), 'must be a section of options'],
  ['an alias without anchor', () => load('listen: *here'), 'an alias has no anchor'],
  ['nothing to serve', () => load(''), 'nothing to serve: give --upstream URL'],
  ['no routes', () => load('routes: []'), 'routes: must have at least 1 item'],
  [
    'two routes and --upstream',
    () => load('routes: [{ path: /a }, { path: /b }]', { upstream: UPSTREAM }),
    '--upstream: the file must have exactly one route',
  ],
  ['--set without a value', () => withFlags('http.drainMs'), '--set: must be path=value'],
  ['--set of a route that is not there', () => withFlags('routes.1.path=/x'), 'routes has no 1'],
  ['--set below a value', () => withFlags('listen=1', 'listen.host=x'), '--set listen.host'],
  [
    '--set past the end of a list',
    () => withFlags('http.allowedHosts=[a]', 'http.allowedHosts.2=b'),
    'takes no 2',
  ],
  [
    '--set of an unknown option',
    () => withFlags('http.drain=1'),
    'http.drain: there is no such option (--set)',
  ],
  [
    '--set of a prototype',
    () => withFlags('__proto__.listen=1'),
    '--set __proto__.listen: there is no such option',
  ],
])('refuses %s in one line', (_, act, line) => {
  const problems = problemsOf(act)
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(line)
})

it('A-09: shows no secret in any problem', () => {
  const secret = 'S3CRET'
  const texts = [
    `requestState: ${secret}`,
    `requestState: { keys: [${secret}] }`,
    `requestState: { keys: ${secret} }`,
    `cluster: { redis: { url: ${secret} } }`,
    `cluster: { redis: "redis://:${secret}@host" }`,
    `routes: ${secret}`,
    `routes: [{ upstream: ${secret} }]`,
    `routes: [{ upstream: { url: "http://user:${secret}@host" } }]`,
    `routes: [{ upstream: { url: "ftp://host?key=${secret}" } }]`,
    `routes: [{ upstream: { url: "http://host", headers: { authorization: "${secret}\\n" } } }]`,
    `routes: [{ upstream: { url: "http://host", headers: { host: ${secret} } } }]`,
    `routes: [{ upstream: { url: "http://host", headers: ${secret} } }]`,
    `requestState: { keys: [*${secret}] }`,
    `requestState: { keys: [ "${secret}" } ${secret}`,
  ]
  for (const text of texts) {
    const body = text.includes('routes') ? text : `${text}\nroutes: [{ upstream: { url: "http://host" } }]`
    const told = problemsOf(() => load(body)).join('\n')
    expect(told.length, text).toBeGreaterThan(0)
    expect(told, text).not.toContain(secret)
  }
  expect(problemsOf(() => withFlags(`requestState.keys.0 ${secret}`)).join()).not.toContain(secret)
  expect(problemsOf(() => withFlags(`requestState.keys=[${secret}]`)).join()).not.toContain(secret)
})

it.each(['config/sidecar.yaml', 'config/gateway.yaml'])('accepts %s as it is shipped', (file) => {
  const { routes } = loadOptions({
    file: new URL(`../../../${file}`, import.meta.url).pathname,
    env: {},
    flags: {},
  })
  expect(routes.length).toBeGreaterThan(0)
})
