import type { IncomingMessage } from 'node:http'
import { ProtocolError } from '../errors.ts'
import type { RouteOptions } from '../options/schema.ts'
import { type Accepts, acceptsOf } from './accepts.ts'
import { createHostCheck, type HostCheckOptions } from './hosts.ts'

/** What passed the guard: nobody reads headers after it. */
export interface Guarded {
  readonly route: RouteOptions
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly accepts: Accepts
}

export interface GuardOptions extends HostCheckOptions {
  readonly routes: readonly RouteOptions[]
  /** The header that tells callers apart, where it is one of its own. */
  readonly principalHeader?: string | undefined
}

/** In 16 KiB there is room for thousands, each of which costs time, and Node drops what is beyond 2000 unseen. */
const MAX_HEADERS = 128
const VERBS = ['GET', 'POST', 'DELETE'] as const

/**
 * Judges a request by its head, before its body is read (design §11): repeated headers, Host and Origin, path,
 * verb, type, encoding, and what the client accepts. Credentials in the query are never looked at.
 *
 * @throws ProtocolError with the HTTP status
 */
export function createGuard(options: GuardOptions): (request: IncomingMessage) => Guarded {
  const routes = new Map(options.routes.map((route) => [route.path, route]))
  const checkHost = createHostCheck(options)
  const once = createOnce(options)

  return (request) => {
    const { headers, method } = request
    once(request.rawHeaders)
    checkHost(headers.host, headers.origin)
    const path = pathOf(request.url ?? '')
    const route = routes.get(path)
    if (route === undefined)
      throw new ProtocolError(-32600, `nothing is served at ${path.slice(0, 100)}`, 404)
    const verb = VERBS.find((known) => known === method)
    if (verb === undefined) throw new ProtocolError(-32600, `${method} is not served here`, 405)
    const accepts = acceptsOf(headers.accept)
    checkEncoding(headers)
    if (verb === 'POST') checkBody(headers, accepts)
    return { route, verb, accepts }
  }
}

function checkEncoding(headers: IncomingMessage['headers']): void {
  if (
    headers['content-encoding'] !== undefined ||
    (headers['transfer-encoding'] ?? 'chunked') !== 'chunked'
  ) {
    throw new ProtocolError(-32600, 'an encoded body is not accepted: send it as it is', 415)
  }
}

function checkBody(headers: IncomingMessage['headers'], accepts: Accepts): void {
  if (!isJson(headers['content-type'])) {
    throw new ProtocolError(-32600, 'Content-Type must be application/json', 415)
  }
  if (!accepts.json && !accepts.sse) {
    throw new ProtocolError(-32600, 'Accept must admit application/json or text/event-stream', 406)
  }
}

/**
 * Refuses to choose between two headers that mean one thing: Node joins some and drops others, and whoever is
 * behind or in front of us might choose the other one (M-HDR-07).
 */
function createOnce({ routes, principalHeader }: GuardOptions): (raw: readonly string[]) => void {
  const single = new Set(['host', 'origin', 'authorization', 'transfer-encoding'])
  for (const route of routes) for (const name of route.upstream.forwardHeaders) single.add(name.toLowerCase())
  if (principalHeader !== undefined) single.add(principalHeader.toLowerCase())

  return (raw) => {
    if (raw.length > 2 * MAX_HEADERS) throw new ProtocolError(-32600, `more than ${MAX_HEADERS} headers`, 431)
    const seen: string[] = []
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]?.toLowerCase() ?? ''
      if (!single.has(name) && !name.startsWith('mcp-') && !name.startsWith('content-')) continue
      if (seen.includes(name)) {
        throw new ProtocolError(name.startsWith('mcp-') ? -32020 : -32600, `the header ${name} occurs twice`)
      }
      seen.push(name)
    }
  }
}

function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

function isJson(type: string | undefined): boolean {
  if (type === 'application/json') return true
  const [media, ...parameters] = (type ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (media !== 'application/json') return false
  return parameters.every((each) => !each.startsWith('charset=') || /^charset="?utf-?8"?$/.test(each))
}
