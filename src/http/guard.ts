import type { IncomingMessage } from 'node:http'
import { ProtocolError } from '../errors.ts'
import type { RouteOptions } from '../options/schema.ts'
import { createHostCheck, type HostCheckOptions } from './hosts.ts'

/** What passed the guard: nobody reads headers after it. */
export interface Guarded {
  readonly route: RouteOptions
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly accepts: { readonly json: boolean; readonly sse: boolean }
}

export interface GuardOptions extends HostCheckOptions {
  readonly routes: readonly RouteOptions[]
}

/** Headers that mean one thing only once; Node joins or drops repeated ones, so the raw list is read. */
const ONCE = /^(host|origin|authorization|content-.*|transfer-encoding|mcp-.*)$/
const VERBS = ['GET', 'POST', 'DELETE'] as const

/**
 * Judges a request by its head, before its body is read (design §11): repeated headers, Host and Origin, path,
 * verb, type, encoding, and what the client accepts.
 *
 * @throws ProtocolError with the HTTP status
 */
export function createGuard(options: GuardOptions): (request: IncomingMessage) => Guarded {
  const routes = new Map(options.routes.map(route => [route.path, route]))
  const checkHost = createHostCheck(options)

  return request => {
    const { headers } = request
    once(request.rawHeaders)
    checkHost(headers.host, headers.origin)
    const path = pathOf(request.url ?? '')
    const route = routes.get(path)
    if (route === undefined) throw new ProtocolError(-32600, `nothing is served at ${path.slice(0, 100)}`, 404)
    const verb = VERBS.find(each => each === request.method)
    if (verb === undefined) throw new ProtocolError(-32600, `${request.method} is not served here`, 405)
    const accepts = accepted(headers.accept)
    if (verb === 'POST') {
      if (headers['content-encoding'] !== undefined) {
        throw new ProtocolError(-32600, 'an encoded body is not accepted: send it without Content-Encoding', 415)
      }
      if (!isJson(headers['content-type'])) throw new ProtocolError(-32600, 'Content-Type must be application/json', 415)
      if (!accepts.json && !accepts.sse) {
        throw new ProtocolError(-32600, 'Accept must admit application/json or text/event-stream', 406)
      }
    }
    return { route, verb, accepts }
  }
}

function once(raw: readonly string[]): void {
  const seen = new Set<string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]?.toLowerCase() ?? ''
    if (seen.has(name) && ONCE.test(name)) throw new ProtocolError(-32600, `the header ${name} occurs twice`)
    seen.add(name)
  }
}

/** The path alone; credentials in the query are not read. */
function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

function isJson(type: string | undefined): boolean {
  if (type === 'application/json') return true
  const [media, ...parameters] = (type ?? '').toLowerCase().split(';')
  if (media?.trim() !== 'application/json') return false
  return parameters.every(each => !each.trim().startsWith('charset=') || /^charset="?utf-?8"?$/.test(each.trim()))
}

/** Which of our two forms the client takes; the most specific range decides, `q=0` refuses (RFC 9110 §12.5.1). */
function accepted(header: string | undefined): { json: boolean; sse: boolean } {
  if (header === undefined || header.trim() === '') return { json: true, sse: true }
  const weights = new Map<string, number>()
  for (const range of header.toLowerCase().split(',')) {
    const [media, ...parameters] = range.split(';').map(each => each.trim())
    const q = parameters.find(each => each.startsWith('q='))
    weights.set(media ?? '', q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const takes = (type: string, major: string): boolean => (weights.get(type) ?? weights.get(major) ?? weights.get('*/*') ?? 0) > 0
  return { json: takes('application/json', 'application/*'), sse: takes('text/event-stream', 'text/*') }
}
