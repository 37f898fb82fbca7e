import type { IncomingHttpHeaders } from 'node:http'
import type { UpstreamOptions } from '../options/schema.ts'
import { isPlainHeader } from '../options/words.ts'

/** Headers that belong to one connection (RFC 9110 §7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What a legacy client says of its message; credentials and cookies are not among it, nor who is in front of us. */
const PASSING = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'baggage',
  'content-type',
  'last-event-id',
  'traceparent',
  'tracestate',
  'user-agent',
])

/**
 * Makes what picks a client's headers for the upstream: those of MCP, of content negotiation and of tracing,
 * those that `forwardHeaders` lists, and the route's fixed ones over all of them. Never what the client's
 * `Connection` names, and the Host is that of the upstream's URL (case 43).
 */
export function createHeadersUp({ url, headers, forwardHeaders }: UpstreamOptions) {
  const forwarded = new Set(forwardHeaders.map((name) => name.toLowerCase()).filter(isPlainHeader))
  const fixed = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const { host } = new URL(url)

  return (from: IncomingHttpHeaders): Record<string, string> => {
    const dropped = namedBy(from.connection)
    const picked: Record<string, string> = { host }
    for (const [name, value] of Object.entries(from)) {
      const passes = PASSING.has(name) || name.startsWith('mcp-') || forwarded.has(name)
      if (!passes || value === undefined || dropped.has(name)) continue
      picked[name] = Array.isArray(value) ? value.join(', ') : value
    }
    for (const [name, value] of fixed) picked[name] = value
    return picked
  }
}

/** The upstream's headers for the client, spelled, ordered and repeated as they came, without `except`. */
export function headersDown(raw: readonly string[], except: readonly string[]): string[] {
  const dropped = new Set([...HOP_BY_HOP, ...except])
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() === 'connection') for (const name of namedBy(raw[i + 1])) dropped.add(name)
  }
  const passed: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]]
    if (!dropped.has(name.toLowerCase())) passed.push(name, value)
  }
  return passed
}

function namedBy(connection: string | undefined): Set<string> {
  return new Set(connection?.split(',').map((name) => name.trim().toLowerCase()))
}
