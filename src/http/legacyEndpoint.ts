import { GatewayError, ProtocolError } from '../errors.ts'
import type { RouteOptions } from '../options/schema.ts'
import type { Keyring } from '../token/keyring.ts'
import { createSeal, SealError } from '../token/seal.ts'

const PARAMETER = 'endpoint'

/**
 * Where clients of HTTP+SSE post: our route, with the upstream's path and query sealed in its query. So the
 * upstream names any path of its origin that it likes, and clients reach those and no others.
 */
export function createLegacyEndpoints(route: RouteOptions, keyring: Keyring) {
  const seal = createSeal(keyring, 'legacy endpoint')
  const { origin } = new URL(route.upstream.url)
  const ours = route.publicUrl ?? route.path
  // A seal holds for one route of one upstream, and keys may be older than either.
  const bound = `${route.path} ${origin} `

  return {
    /**
     * The endpoint for clients in place of the one that the stream at `base` named.
     *
     * @throws GatewayError upstream_protocol for another origin
     */
    ourEndpoint(named: string, base: URL): string {
      const target = URL.canParse(named, base.href) ? new URL(named, base) : undefined
      if (target?.origin !== origin) {
        throw new GatewayError('upstream_protocol', 'the upstream named an endpoint on another origin')
      }
      const sealed = seal.seal(() => Buffer.from(bound + target.pathname + target.search))
      return `${ours}?${PARAMETER}=${sealed}`
    },

    /**
     * The upstream's URL behind an endpoint of ours; undefined where a request names none. All else that a
     * query has is ignored.
     *
     * @throws ProtocolError 404 for one that is not ours
     */
    upstreamOf(query: string): URL | undefined {
      const [named, ...more] = new URLSearchParams(query).getAll(PARAMETER)
      if (named === undefined) return undefined
      const path = more.length === 0 ? opened(named) : undefined
      if (path === undefined) throw new ProtocolError(-32600, 'there is no such endpoint', 404)
      return new URL(origin + path)
    },
  }

  function opened(sealed: string): string | undefined {
    try {
      const plain = seal.open(sealed).plain.toString()
      return plain.startsWith(bound) ? plain.slice(bound.length) : undefined
    } catch (error) {
      if (error instanceof SealError) return undefined
      throw error
    }
  }
}
