import { ProtocolError } from '../errors.ts'
import { isLoopback } from './loopback.ts'

export interface HostCheckOptions {
  readonly listen: string
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/**
 * Host and Origin against their allow-lists (M-HTTP-02). An entry without port admits any port. Where we listen
 * on loopback and nothing is configured, loopback names are admitted, so that no foreign page reaches us by a
 * name of its own that resolves here.
 */
export function createHostCheck({ listen, allowedHosts, allowedOrigins }: HostCheckOptions) {
  const names = allowedHosts.length > 0 || !isLoopback(listen) ? allowedHosts : LOOPBACK_NAMES
  const hosts = new Set(names.map((each) => each.toLowerCase()))
  const origins = new Set(allowedOrigins.map((each) => each.toLowerCase()))
  const loopbackOrigins = isLoopback(listen)
  // Nearly every request names one of a few hosts and no origin.
  const known = new Set<string>()

  return (host: string | undefined, origin: string | undefined): void => {
    if (host === undefined || !(known.has(host) || hostAllowed(host))) {
      throw new ProtocolError(-32600, `the host ${JSON.stringify(host ?? '')} is not served here`, 403)
    }
    if (origin !== undefined && !originAllowed(origin)) {
      throw new ProtocolError(-32600, 'requests from this origin are not allowed', 403)
    }
  }

  function hostAllowed(host: string): boolean {
    const parsed = exactly(`http://${host}`, host)
    if (parsed === undefined) return false
    const allowed = hosts.has(host.toLowerCase()) || hosts.has(parsed.hostname)
    if (allowed && known.size < 1000) known.add(host)
    return allowed
  }

  function originAllowed(origin: string): boolean {
    if (origins.has(origin.toLowerCase())) return true
    const [, authority] = /^https?:\/\/(.*)$/i.exec(origin) ?? []
    const parsed = authority === undefined ? undefined : exactly(origin, authority)
    if (parsed === undefined) return false
    return loopbackOrigins && allowedOrigins.length === 0 && LOOPBACK_NAMES.includes(parsed.hostname)
  }
}

/** Parses an authority that is nothing but host and port, spelled plainly. */
function exactly(url: string, authority: string): URL | undefined {
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i.test(authority) || !URL.canParse(url)) return undefined
  const parsed = new URL(url)
  // `127.1` and `0x7f.0.0.1` parse to names that were not written.
  return authority.toLowerCase().replace(/:\d+$/, '') === parsed.hostname ? parsed : undefined
}
