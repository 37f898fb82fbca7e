import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { ProtocolError } from '../errors.ts'
import { readEnvelope } from '../mcp/envelope.ts'
import { eraOf } from '../mcp/era.ts'
import { checkHeaders, checkNotification, type MirroredHeaders, unsupported } from '../mcp/headers.ts'
import { classify, idOf, requestShape } from '../mcp/jsonrpc.ts'
import { paramHeadersOf } from '../mcp/paramHeaders.ts'
import type { Answer, Caller, ModernRequest } from '../mcp/request.ts'
import { at, scan, stringOf, type Value } from '../mcp/scan.ts'
import type { Log } from '../observe/log.ts'
import type { Options, RouteOptions } from '../options/schema.ts'
import { createAnswer } from './answer.ts'
import { readBody } from './body.ts'
import { createConcurrency } from './concurrency.ts'
import { createGuard, type Guarded } from './guard.ts'
import { legacyOf } from './legacyOf.ts'
import type { Passthrough } from './passthrough.ts'
import { refuse } from './refuse.ts'
import type { Upgraded } from './upgraded.ts'

export type Headers = Readonly<Record<string, string | undefined>>

export interface DoorOptions {
  readonly options: Options
  /** Makes, for a route, what tells its callers. */
  readonly identifyFor: (route: RouteOptions) => (headers: Headers) => Caller
  readonly serve: (route: RouteOptions, request: ModernRequest, answer: Answer) => void | Promise<void>
  /** Where clients of earlier revisions go; they are refused on a route without one. */
  readonly passthroughFor: (route: RouteOptions) => Passthrough | undefined
  /** Who knows whether a route's upstream needs no translation; none where it always does. */
  readonly upgradedFor: (route: RouteOptions) => Upgraded | undefined
  readonly log: Log
  readonly clock: Clock
}

const SCAN = { strict: true, foldCase: true, maxDepth: 64 }

/** One request on its way: who sends it, and what is known of it so far. */
interface Passing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly guarded: Guarded
  readonly text: Buffer
  /** What is done instead if the upstream turns out to be upgraded. */
  readonly upgraded?: (() => void) | undefined
}

/**
 * The way from a request's bytes to a `ModernRequest`: guard, body, scan, era, envelope, mirrored headers,
 * caller. What is thrown on it ends here; from `serve` on it is the answer's.
 */
export function createPass(given: DoorOptions) {
  const { options, identifyFor, serve, passthroughFor, upgradedFor, log, clock } = given
  const { maxBodyBytes, allowedHosts, allowedOrigins } = options.http
  const { listen, routes, principal } = options
  const guard = createGuard({ listen, routes, allowedHosts, allowedOrigins, principalHeader: principal.name })
  const identify = new Map(routes.map((route) => [route.path, identifyFor(route)]))
  const enter = createConcurrency(options.limits.maxConcurrentPerPrincipal)
  let requests = 0

  /** `waits`: the client sends its body only once it is told to go on. */
  async function pass(request: IncomingMessage, response: ServerResponse, waits: boolean): Promise<void> {
    let unread = false
    try {
      const guarded = guard(request)
      const { verb, route } = guarded
      const passthrough = passthroughFor(route)
      if (verb !== 'POST' && passthrough === undefined)
        throw new ProtocolError(-32600, `${verb} is not served here`, 405)
      unread = true
      const text = await readBody(request, maxBodyBytes, () => waits && response.writeContinue())
      unread = false
      const upgraded = upgradedFor(route)
      const asIs = passthrough ?? upgraded
      const legacy = asIs && legacyOf(verb, single(request.headers['mcp-protocol-version']), text)
      const passing = { request, response, guarded, text }
      if (passthrough !== undefined && legacy !== undefined) {
        passthrough.pass({ request, response, verb, body: text, listens: verb === 'GET', ...legacy })
      } else if (upgraded !== undefined && legacy === undefined) {
        const credentials = () => callerOf(route, request).credentials
        const translated = (instead?: () => void) => translate({ ...passing, upgraded: instead })
        await upgraded.serve({ request, response, text, credentials, translate: translated })
      } else translate(passing)
    } catch (error) {
      refuse({ request, response, error, cut: unread, log, clock })
    }
  }

  function translate(passing: Passing): void {
    const { request, response, text } = passing
    let root: Value | undefined
    try {
      root = scan(text, requestShape, SCAN)
      dispatch(passing, root)
    } catch (error) {
      refuse({ request, response, error, id: root && idOf(text, root), log, clock })
    }
  }

  function callerOf(route: RouteOptions, { headers }: IncomingMessage): Caller {
    const caller = identify.get(route.path)?.(flat(headers))
    if (caller === undefined) throw new Error(`nobody identifies the callers of ${route.path}`)
    return caller
  }

  function dispatch({ request, response, guarded, text, upgraded }: Passing, root: Value): void {
    const { headers } = request
    const mirrored: MirroredHeaders = {
      version: single(headers['mcp-protocol-version']),
      method: single(headers['mcp-method']),
      name: single(headers['mcp-name']),
    }
    const message = classify(text, root)
    // Those that are not passed through are told which one is served (M-VER-06, M-HTTP-15).
    if (eraOf(mirrored.version, root) === 'legacy') throw unsupported(mirrored.version ?? offered(text, root))
    if (message.kind === 'response') {
      throw new ProtocolError(-32600, 'responses are sent as inputResponses of the retry')
    }
    if (message.kind === 'notification') {
      checkNotification(mirrored, message.method, text, root)
      response.writeHead(202).end()
      return
    }
    const { id, method } = message
    const envelope = readEnvelope(text, root)
    checkHeaders(mirrored, envelope.version, method, text, root)
    const { route, accepts } = guarded
    const caller = callerOf(route, request)
    response.once('close', enter(caller.principal))
    const answer = createAnswer({
      request,
      response,
      id,
      accepts,
      clock,
      upgraded,
      log: log.child({ request: ++requests }),
    })
    const paramHeaders = paramHeadersOf(headers)
    const modern = { text, root, id, method, envelope, caller, paramHeaders }
    void answering(() => serve(route, modern, answer), answer)
  }

  return pass
}

async function answering(serving: () => void | Promise<void>, answer: Answer): Promise<void> {
  try {
    await serving()
  } catch (error) {
    answer.fail(error)
  }
}

/** What a client without version header speaks: what it offers, or the last revision without that header (M-HTTP-15). */
function offered(text: Buffer, root: Value): string {
  return stringOf(text, at(root, 'params', 'protocolVersion')) ?? '2025-03-26'
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function flat(headers: IncomingMessage['headers']): Headers {
  const values: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(headers))
    values[name] = Array.isArray(value) ? value.join(', ') : value
  return values
}
