import { createHmac, randomBytes } from 'node:crypto'
import type { Caller } from '../mcp/request.ts'
import { isPlainHeader } from '../options/words.ts'
import type { Keyring } from './keyring.ts'

type Headers = Readonly<Record<string, string | undefined>>

export interface IdentifyOptions {
  readonly keyring: Keyring
  /** What tells callers apart. */
  readonly from: 'authorization' | 'none'
  /** Headers that go upstream, in any case. */
  readonly forwardHeaders: readonly string[]
}

const PURPOSE = 'principal'
const NO_SALT = Buffer.alloc(0)

/**
 * Tells who sends a request (design §2): as principal, by the credentials that name a caller; as authorization
 * context, by every header that goes upstream for it. Both are digests under keys that never leave the process
 * (or the ring, for what is sealed), so that nothing kept in memory or logged is a credential.
 */
export function createIdentify({
  keyring,
  from,
  forwardHeaders,
}: IdentifyOptions): (headers: Headers) => Caller {
  const local = randomBytes(32)
  const forwarded = [...new Set(forwardHeaders.map((name) => name.toLowerCase()))].filter(isPlainHeader)
  const digest = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

  function callerOf(named: string, credentials: Record<string, string>): Caller {
    const presented = JSON.stringify([named, Object.entries(credentials).sort()])
    return {
      principal: digest(local, named).toString('base64url'),
      principalFor: (kid) => digest(keyring.derive(kid, PURPOSE, NO_SALT), named),
      context: digest(local, presented).toString('base64url'),
      anonymous: named === '' && Object.keys(credentials).length === 0,
      credentials,
    }
  }
  const nobody = callerOf('', {})

  return (headers) => {
    const { authorization } = headers
    const credentials: Record<string, string> = {}
    for (const name of forwarded) {
      const value = headers[name]
      if (value !== undefined) credentials[name] = value
    }
    const named = from === 'none' || authorization === undefined ? '' : `authorization ${authorization}`
    return named === '' && Object.keys(credentials).length === 0 ? nobody : callerOf(named, credentials)
  }
}
