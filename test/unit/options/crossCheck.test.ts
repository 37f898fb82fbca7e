import { describe, expect, it } from 'vitest'
import { loadOptions, OptionsError } from '../../../src/options/load.ts'
import type { RouteOptions } from '../../../src/options/schema.ts'

const UPSTREAM = 'http://127.0.0.1:3001/sse'
const load = (...set: string[]) => loadOptions({ env: {}, flags: { upstream: UPSTREAM, set } })

function routeOf(...set: string[]): RouteOptions {
  const [route] = load(...set.map((each) => `routes.0.${each}`)).routes
  if (route === undefined) throw new Error('there is no route')
  return route
}

function problemsOf(...set: string[]): readonly string[] {
  try {
    load(...set)
  } catch (error) {
    if (error instanceof OptionsError) return error.problems
    throw error
  }
  return []
}

describe('timeouts (case 14: a lost timeout must not become "at once")', () => {
  it('takes 0 as the default', () => {
    const { upstream } = routeOf('upstream.requestTimeoutMs=0', 'upstream.maxTimeoutMs=0')
    expect(upstream).toMatchObject({ requestTimeoutMs: 600_000, maxTimeoutMs: 1_800_000 })
  })

  it('fits the one that nobody set to the one that somebody set', () => {
    expect(routeOf('upstream.requestTimeoutMs=2000000').upstream.maxTimeoutMs).toBe(2_000_000)
    expect(routeOf('upstream.maxTimeoutMs=1000').upstream.requestTimeoutMs).toBe(1000)
    const lost = routeOf('upstream.maxTimeoutMs=1000', 'upstream.requestTimeoutMs=0')
    expect(lost.upstream.requestTimeoutMs).toBe(1000)
  })

  it('refuses two that contradict each other', () => {
    const set = ['routes.0.upstream.requestTimeoutMs=2000', 'routes.0.upstream.maxTimeoutMs=1000']
    expect(problemsOf(...set)).toEqual([
      'routes.0.upstream.requestTimeoutMs: must be at most maxTimeoutMs (1000), not 2000 (--set)',
    ])
  })

  it('keeps 0 for what 0 switches off', () => {
    expect(routeOf('exchange.holdMs=0', 'exchange.settleMs=0').exchange).toMatchObject({
      holdMs: 0,
      settleMs: 0,
    })
  })
})

describe('limits', () => {
  it('suspends at most three quarters of the sessions, unless told', () => {
    expect(routeOf('sessions.max=100').exchange.maxSuspended).toBe(75)
    expect(routeOf('sessions.max=1').exchange.maxSuspended).toBe(1)
    expect(routeOf('sessions.max=100', 'exchange.maxSuspended=100').exchange.maxSuspended).toBe(100)
  })

  it('lowers the limit of one to the limit of all', () => {
    const { sessions, exchange } = routeOf('sessions.max=4')
    expect(sessions).toMatchObject({ maxPerPrincipal: 4, maxOpening: 4 })
    expect(exchange.maxSuspendedPerPrincipal).toBe(3)
    const { limits } = load('limits.maxConnections=10')
    expect(limits).toMatchObject({ maxConcurrentPerPrincipal: 10, maxPerAddress: 10 })
  })

  it('refuses more suspended calls than sessions', () => {
    const set = ['routes.0.sessions.max=10', 'routes.0.exchange.maxSuspended=11']
    expect(problemsOf(...set)).toEqual([
      'routes.0.exchange.maxSuspended: must be at most sessions.max (10), not 11 (--set)',
    ])
  })
})

describe('addresses, names and paths', () => {
  it.each(['0.0.0.0:8808', '[::]:8808', '192.168.1.1:8808', '127.0.0.1.example.com:8808'])(
    'M-HTTP-02: refuses to listen on %s without allowed hosts',
    (listen) => {
      expect(problemsOf(`listen=${listen}`)[0]).toContain(
        `${listen} is not loopback: http.allowedHosts must name`,
      )
      expect(problemsOf(`listen=${listen}`, 'http.allowedHosts=[a.example]')).toEqual([])
    },
  )

  it.each(['localhost:1', '127.0.0.1:1', '127.9.9.9:1', '[::1]:1', '65535'])('listens on %s', (listen) => {
    expect(problemsOf(`listen=${listen}`)).toEqual([])
  })

  it.each(['65536', 'localhost', ':1', '[zz]:1', '::1', 'a b:1', 'http://a:1', '-1', '1.5', 'true'])(
    'refuses the address %s',
    (listen) => expect(problemsOf(`listen=${listen}`)).toHaveLength(1),
  )

  it('refuses one address for both listeners', () => {
    expect(problemsOf('listen=9000', 'admin=9000')[0]).toContain('admin: must be another address than listen')
    expect(problemsOf('listen=0', 'admin=0')).toEqual([])
  })

  it('refuses one path for two routes', () => {
    const routes = `[{ upstream: { url: ${UPSTREAM} } }, { path: /mcp, upstream: { url: ${UPSTREAM} } }]`
    expect(problemsOf(`routes=${routes}`)[0]).toContain('routes.1.path: another route has the path /mcp')
  })

  it.each(['', 'mcp', '/a?b', '/a#b', '/a b'])('refuses the path %j', (path) => {
    expect(problemsOf(`routes.0.path="${path}"`)).toHaveLength(1)
  })

  it.each(['one', 'ftp://a', 'file:///a', 'http://u@a/', 'http://u:p@a/', 'http://a/#b', 'http://a/#'])(
    'refuses the upstream %s',
    (url) => expect(problemsOf(`routes.0.upstream.url="${url}"`)).toHaveLength(1),
  )

  it.each([
    'http.allowedHosts=["http://a"]',
    'http.allowedOrigins=["a.example"]',
    'http.allowedOrigins=["https://a.example/"]',
    'http.allowedOrigins=["null"]',
    'http.trustedProxies=["a.example"]',
    'http.trustedProxies=["10.0.0.0/33"]',
    'http.trustedProxies=["10.0.0.0/8/8"]',
    'routes.0.publicUrl="https://a/?b"',
    'cluster.peer="a"',
  ])('refuses %s', (set) => expect(problemsOf(set)).toHaveLength(1))

  it('accepts subnets and ports in those lists', () => {
    const set = [
      'http.trustedProxies=["10.0.0.0/8", "::1", "fd00::/64"]',
      'http.allowedHosts=["a:1", "[::1]:2"]',
    ]
    expect(problemsOf(...set, 'http.allowedOrigins=["https://a.example:8443"]')).toEqual([])
  })
})

describe('headers', () => {
  it.each(['host', 'Content-Length', 'mcp-session-id', 'Transfer-Encoding', 'proxy-authorization', 'a b'])(
    'neither forwards nor fixes %s',
    (name) => {
      expect(problemsOf(`routes.0.upstream.forwardHeaders=["${name}"]`)).toHaveLength(1)
      expect(problemsOf(`routes.0.upstream.headers={ x-a: b, "${name}": c }`)).toHaveLength(1)
    },
  )

  it('refuses a value that would end its line', () => {
    expect(problemsOf('routes.0.upstream.headers={ x-a: "b\\r\\nx-c: d" }')).toHaveLength(1)
  })

  it('does not forward what is fixed, and refuses to be told both', () => {
    const { upstream } = routeOf('upstream.headers={ Authorization: Bearer x }')
    expect(upstream.forwardHeaders).toEqual([])
    expect(
      problemsOf(
        'routes.0.upstream.headers={ Authorization: Bearer x }',
        'routes.0.upstream.forwardHeaders=[authorization]',
      ),
    ).toHaveLength(1)
  })
})

describe('who calls', () => {
  it('needs what its source needs', () => {
    expect(problemsOf('principal.from=header')).toContain(
      'principal.name: must be set for principal.from header',
    )
    expect(problemsOf('principal.from=jwt').slice(0, 3)).toEqual([
      'principal.issuer: must be set for principal.from jwt',
      'principal.audience: must be set for principal.from jwt',
      'principal.jwks: must be set for principal.from jwt',
    ])
  })

  it('takes keys from one place', () => {
    const keys = `requestState.keys=["${'ab'.repeat(32)}"]`
    expect(problemsOf(keys)).toEqual([])
    expect(problemsOf(keys, 'requestState.keysFile=/a')[0]).toContain('must not be set together with keys')
  })

  it('needs keys where replicas share states', () => {
    expect(problemsOf('cluster.redis=redis://a')[0]).toContain('requestState: must have keys')
  })
})

describe('what this version does not serve', () => {
  it.each([
    ['principal.from=header', 'principal.name=x-user'],
    ['cluster.redis=redis://u:p@a', `requestState.keys=["${'ab'.repeat(32)}"]`],
    ['tls.cert=/a'],
    ['tls.key=/a'],
    ['tls.clientCa=/a'],
    ['http.corsOrigins=["https://a.example"]'],
    ['routes.0.upstream.ca=/a'],
    ['routes.0.upstream.cert=/a'],
    ['routes.0.upstream.key=/a'],
    ['routes.0.exchange.replay=always'],
    ['routes.0.exchange.replayTools={ a: true }'],
    ['routes.0.cache.memoryMs=1'],
    ['routes.0.tasks.dialect=sep2322'],
    ['routes.0.tasks.promoteAfterMs=1'],
    ['routes.0.tasks.withoutExtension=refuse'],
  ])('refuses %s', (...set) => {
    const path = set[0]?.split('=')[0]
    expect(problemsOf(...set)).toEqual([`${path}: not supported by this version (--set)`])
  })

  it('refuses none of the defaults', () => {
    expect(problemsOf('routes.0.legacyClients=pass', 'routes.0.exchange.replay=annotated')).toEqual([])
  })
})
