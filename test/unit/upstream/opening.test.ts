import { describe, expect, it } from 'vitest'
import { allCapabilities } from '../../../src/mcp/capabilities.ts'
import { at } from '../../fixtures/json.ts'
import { type RawRequest, type RawUpstream, startRawUpstream } from '../../fixtures/rawUpstream.ts'
import { connect } from './connect.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** The methods and verbs that opened the session, in order. */
const orderOf = (upstream: RawUpstream): string[] =>
  upstream.all().map((each) => (each.verb === 'POST' ? (each.method ?? 'answer') : each.verb))

const initializes = (upstream: RawUpstream): RawRequest[] =>
  upstream.all((each) => each.method === 'initialize')

describe('the order (design §4.7)', () => {
  it('L-HTTP-05: initialize, the stream, initialized; the stream’s head is waited for', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'GET') return false
        setTimeout(() => request.begin(), 60)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    const { session } = await lease()
    expect(orderOf(upstream)).toEqual(['initialize', 'GET', 'notifications/initialized'])
    expect(session.listening()).toBe(true)
  })

  it('a head that is withheld for 300 ms is waited for no longer, and is a stream when it comes', async () => {
    let stream: RawRequest | undefined
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'GET') return false
        stream = request
        return true
      },
    })
    const { lease } = connect(upstream.url)
    const { session } = await lease()
    stream?.say({ jsonrpc: '2.0', id: 'late', method: 'ping' })
    await upstream.answer('late')
    expect(session.listening()).toBe(true)
  })

  it('L-LIF-01: nothing is sent before initialized has its 2xx', async () => {
    let initialized: RawRequest | undefined
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.method !== 'notifications/initialized') return false
        initialized = request
        return true
      },
    })
    const { lease, call } = connect(upstream.url)
    let leased = false
    const leasing = lease().then((given) => {
      leased = true
      return given
    })
    await upstream.method('notifications/initialized')
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(leased).toBe(false)
    initialized?.status(204)
    const { session } = await leasing
    const sent = call(session)
    const request = await upstream.method('tools/call')
    request.result('{}')
    expect(await sent.response()).toMatchObject({ result: {} })
  })

  it.each([
    ['400: asks again after initialized', 400, ['initialize', 'GET', 'notifications/initialized', 'GET']],
    ['409: asks again shortly', 409, ['initialize', 'GET', 'notifications/initialized', 'GET']],
    ['405: never again', 405, ['initialize', 'GET', 'notifications/initialized']],
    ['404: never again', 404, ['initialize', 'GET', 'notifications/initialized']],
    ['501: never again', 501, ['initialize', 'GET', 'notifications/initialized']],
  ])('cases 28, 29: a GET answered with %s', async (_name, status, order) => {
    let first = true
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'GET' || !first) return false
        first = false
        request.status(status)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    const { session } = await lease()
    expect(orderOf(upstream)).toEqual(order)
    expect(session.listening()).toBe(order.length === 4)
    expect(session.retired()).toBe(false)
  })

  it.each([
    ['JSON', 'application/json', '{}'],
    ['HTML', 'text/html', '<p>'],
  ])('cases 28: a GET answered with 200 and %s means no stream', async (_name, type, body) => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'GET') return false
        request.status(200, body, { 'content-type': type })
        return true
      },
    })
    const { lease } = connect(upstream.url)
    const { session } = await lease()
    expect([session.listening(), session.retired()]).toEqual([false, false])
    expect(upstream.all((each) => each.verb === 'GET')).toHaveLength(1)
  })

  it('cases 28: a GET answered with 401 is about credentials', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'GET') return false
        request.status(401, '', { 'www-authenticate': 'Bearer scope="x"' })
        return true
      },
    })
    const { lease } = connect(upstream.url)
    await expect(lease()).rejects.toMatchObject({ status: 401, challenge: 'Bearer scope="x"' })
    await upstream.next((each) => each.verb === 'DELETE')
  })

  it('waits for roots/list only where roots were declared, and keeps it for the lease', async () => {
    const upstream = await startRawUpstream({
      script: (request, self) => {
        if (request.method !== 'notifications/initialized') return false
        request.status(202)
        self.say({ jsonrpc: '2.0', id: 'r', method: 'roots/list' }, request.session)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    const { session } = await lease({ capabilities: allCapabilities })
    expect(session.fresh()).toBe(true)
    expect(session.takeRoots().map((each) => each.id.toString())).toEqual(['"r"'])
    expect(session.takeRoots()).toEqual([])
  })

  it('L-PNG-01: pings are answered during the opening', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.method !== 'initialize') return false
        request.say({ jsonrpc: '2.0', id: 'p', method: 'ping' })
        held = request
        return true
      },
    })
    let held: RawRequest | undefined
    const { lease } = connect(upstream.url)
    const leasing = lease()
    const pong = await upstream.answer('p')
    expect(pong.message).toEqual({ jsonrpc: '2.0', id: 'p', result: {} })
    held?.say({
      jsonrpc: '2.0',
      id: Number(held.id),
      result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} },
    })
    expect((await leasing).session.handshake.serverInfo).toBeUndefined()
    // The POST that the upstream never ends is closed with the opening.
    await held?.closed
  })
})

describe('negotiation', () => {
  it('L-LIF-02: a refusal that names versions is asked once more, with the best of them and the least', async () => {
    const upstream = await startRawUpstream({
      version: '2025-03-26',
      script: (request) => {
        if (at(request.message, 'params', 'protocolVersion') !== '2025-11-25') return false
        request.error({ code: -32602, message: 'no', data: { supported: ['2024-11-05', '2025-03-26'] } })
        return true
      },
    })
    const { lease } = connect(upstream.url)
    const { session } = await lease({ capabilities: allCapabilities })
    expect(session.handshake.revision).toBe('2025-03-26')
    const [, second] = initializes(upstream)
    expect(at(second?.message, 'params')).toMatchObject({
      protocolVersion: '2025-03-26',
      capabilities: { elicitation: {}, sampling: {}, roots: {} },
    })
  })

  it('cases 7: a plain 400 whose text lists versions is one, too', async () => {
    const upstream = await startRawUpstream({
      version: '2025-06-18',
      script: (request) => {
        if (at(request.message, 'params', 'protocolVersion') !== '2025-11-25') return false
        request.status(400, 'Unsupported protocol version (supported: 2025-06-18, 2025-03-26)')
        return true
      },
    })
    const { lease } = connect(upstream.url)
    expect((await lease()).session.handshake.revision).toBe('2025-06-18')
    expect(initializes(upstream)).toHaveLength(2)
  })

  it('X-CAP-17: the revision learned first is offered to the next session', async () => {
    const upstream = await startRawUpstream({ version: '2025-06-18' })
    const { lease } = connect(upstream.url)
    await lease()
    await lease({ key: 'b' })
    const offered = initializes(upstream).map((each) => at(each.message, 'params', 'protocolVersion'))
    expect(offered).toEqual(['2025-11-25', '2025-06-18'])
  })

  it.each([['2023-01-01'], [7], [undefined]])(
    'L-LIF-02: an upstream that speaks %j is left',
    async (version) => {
      const upstream = await startRawUpstream({
        script: (request) => {
          if (request.method !== 'initialize') return false
          request.result(JSON.stringify({ protocolVersion: version, capabilities: {} }))
          return true
        },
      })
      const { lease } = connect(upstream.url)
      await expect(lease()).rejects.toMatchObject({ reason: 'upstream_protocol' })
      expect(initializes(upstream)).toHaveLength(1)
    },
  )

  it('an upstream that refuses twice is told so, with what it said', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.method !== 'initialize') return false
        request.error({ code: -32000, message: 'closed on sundays' })
        return true
      },
    })
    const { lease } = connect(upstream.url)
    await expect(lease()).rejects.toThrow('closed on sundays')
    expect(initializes(upstream)).toHaveLength(2)
  })

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', undefined],
    ['2024-11-05', undefined],
  ])('L-HTTP-10: %s gets the version header %s, and initialize none', async (version, header) => {
    const upstream = await startRawUpstream({ version })
    const { lease, close } = connect(upstream.url)
    await lease()
    await close()
    const sent = upstream
      .all()
      .map((each) => [each.method ?? each.verb, each.headers['mcp-protocol-version']])
    expect(sent).toEqual([
      ['initialize', undefined],
      ['GET', header],
      ['notifications/initialized', header],
      ['DELETE', header],
    ])
  })

  it('L-HTTP-07: a session id of illegal characters is refused', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.method !== 'initialize') return false
        request.status(200, '{}', { ...JSON_TYPE, 'mcp-session-id': 'a b' })
        return true
      },
    })
    const { lease } = connect(upstream.url)
    await expect(lease()).rejects.toMatchObject({ reason: 'upstream_protocol' })
  })
})

describe('which transport (M-HTTP-16)', () => {
  it.each([400, 404, 405, 406])('a POST answered with %i: a GET is tried', async (status) => {
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request) => {
        if (request.verb !== 'POST' || request.url !== '/mcp') return false
        request.status(
          status,
          '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}',
          JSON_TYPE,
        )
        return true
      },
    })
    const { lease } = connect(upstream.url.replace('/sse', '/mcp'))
    const { session } = await lease()
    expect(session.handshake.serverInfo?.toString()).toContain('raw-upstream')
  })

  it.each([401, 403, 429, 500, 503])('a POST answered with %i says nothing about it', async (status) => {
    const upstream = await startRawUpstream({
      script: (request) => {
        request.status(status)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    await expect(lease()).rejects.toThrow()
    expect(upstream.all().map((each) => each.verb)).toEqual(['POST'])
  })

  it('a path that ends in /sse is tried with GET first, then with POST', async () => {
    const upstream = await startRawUpstream({ stream: false })
    const { lease } = connect(upstream.url.replace('/mcp', '/sse'))
    await lease()
    await lease({ key: 'b' })
    const [first, second] = upstream.all()
    expect([first?.verb, second?.method]).toEqual(['GET', 'initialize'])
    // What was learned holds for the next session.
    expect(upstream.all((each) => each.verb === 'GET' && each.session === undefined)).toHaveLength(1)
  })

  it('an upstream that changes its transport is found again', async () => {
    let old = false
    const upstream = await startRawUpstream({
      transport: 'sse',
      script: (request) => {
        if (old) return request.verb === 'POST' && request.url === '/mcp' && refuse(request)
        if (request.verb === 'GET') return refuse(request)
        const result = { protocolVersion: '2025-11-25', capabilities: {} }
        if (request.method === 'initialize')
          request.status(200, JSON.stringify({ jsonrpc: '2.0', id: request.id, result }), JSON_TYPE)
        else request.status(202)
        return true
      },
    })
    const refuse = (request: RawRequest): true => {
      request.status(405)
      return true
    }
    const { lease } = connect(upstream.url.replace('/sse', '/mcp'))
    expect((await lease()).session.sessionful()).toBe(false)
    old = true
    expect((await lease({ key: 'b' })).session.sessionful()).toBe(true)
  })

  it('a configured transport is the only one', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        request.status(405)
        return true
      },
    })
    const { lease } = connect(upstream.url, 'upstream.transport=streamable-http')
    await expect(lease()).rejects.toMatchObject({ reason: 'upstream_protocol' })
    expect(upstream.all((each) => each.verb === 'GET')).toHaveLength(0)
  })
})

describe('sessions lost while they are opened', () => {
  it.each(['notifications/initialized', 'initialize'])(
    'the SSE stream ends at %s: fails at once',
    async (method) => {
      const upstream = await startRawUpstream({
        transport: 'sse',
        script: (request, self) => {
          if (request.method !== method) return false
          self.stream(request.session)?.end()
          return true
        },
      })
      const { lease, upstream: ours } = connect(upstream.url)
      await expect(lease()).rejects.toMatchObject({ reason: 'upstream_closed' })
      expect(ours.counts()).toMatchObject({ idle: 0, opening: 0 })
    },
  )

  it('rubbish on the stream while initialized is under way: fails at once, and the session is ended', async () => {
    const upstream = await startRawUpstream({
      script: (request, self) => {
        if (request.method !== 'notifications/initialized') return false
        self.say('{', request.session)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    await expect(lease()).rejects.toMatchObject({ reason: 'upstream_protocol' })
    await upstream.next((each) => each.verb === 'DELETE')
  })

  it('initialized refused: fails', async () => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.method !== 'notifications/initialized') return false
        request.status(400)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    await expect(lease()).rejects.toMatchObject({ reason: 'upstream_protocol' })
  })

  it('closing does not wait for an upstream that never answers', async () => {
    const upstream = await startRawUpstream({ script: (request) => request.method === 'initialize' })
    const { lease, close } = connect(upstream.url)
    const leasing = expect(lease()).rejects.toMatchObject({ reason: 'draining' })
    await upstream.method('initialize')
    await close()
    await leasing
  })
})

describe('ending', () => {
  it('cases 46, L-HTTP-09, A-14: DELETE with credentials, then the streams', async () => {
    const upstream = await startRawUpstream()
    const { lease, close } = connect(upstream.url)
    await lease()
    const stream = upstream.stream()
    let streamClosed = false
    void stream?.closed.then(() => {
      streamClosed = true
    })
    const closing = close()
    const ended = await upstream.next((each) => each.verb === 'DELETE')
    expect(streamClosed).toBe(false)
    expect(ended.headers).toMatchObject({ authorization: 'Bearer a', 'mcp-session-id': 'raw-session-1' })
    await closing
    await stream?.closed
  })

  it.each([405, 404, 500])('cases 47: DELETE answered with %i is fine', async (status) => {
    const upstream = await startRawUpstream({
      script: (request) => {
        if (request.verb !== 'DELETE') return false
        request.status(status)
        return true
      },
    })
    const { lease } = connect(upstream.url)
    ;(await lease()).release(false)
    await upstream.next((each) => each.verb === 'DELETE')
  })

  it('never DELETEs without a session id', async () => {
    const upstream = await startRawUpstream({ sessionIds: false })
    const { lease, close } = connect(upstream.url)
    ;(await lease()).release(true)
    await close()
    expect(upstream.all((each) => each.verb === 'DELETE')).toHaveLength(0)
  })
})
