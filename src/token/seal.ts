import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Keyring } from './keyring.ts'

export type SealReason = 'length' | 'prefix' | 'kid' | 'seal'

/** Why a sealed text was not opened; for the log, never for a client. */
export class SealError extends Error {
  readonly reason: SealReason

  constructor(reason: SealReason) {
    super(`not opened: ${reason}`)
    this.name = 'SealError'
    this.reason = reason
  }
}

const PREFIX = 'mp1'
const MAX_LENGTH = 64 * 1024
const SALT_BYTES = 16
const TAG_BYTES = 16
/** Every sealed text has a key of its own, so a fixed nonce is used once. */
const NONCE = Buffer.alloc(12)

/**
 * Seals bytes for one purpose as `mp1.<kid>.<base64url>` (design §7): AES-256-GCM under a key derived for this
 * one text from the ring's key and a random salt; prefix, key name and purpose are authenticated.
 */
export function createSeal(keyring: Keyring, purpose: string) {
  const bound = (kid: string): Buffer => Buffer.from(`${PREFIX}.${kid}.${purpose}`)

  return {
    /** Seals under the current key; `plain` gets its name, for what is keyed with it. */
    seal(plain: (kid: string) => Buffer): string {
      const kid = keyring.current()
      const salt = randomBytes(SALT_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyring.derive(kid, purpose, salt), NONCE)
      cipher.setAAD(bound(kid))
      const sealed = Buffer.concat([salt, cipher.update(plain(kid)), cipher.final(), cipher.getAuthTag()])
      return `${PREFIX}.${kid}.${sealed.toString('base64url')}`
    },

    /** Whether this text says that a key of the ring sealed it, whatever is in it. */
    claims(text: string): boolean {
      const [prefix, kid] = text.split('.', 2)
      return prefix === PREFIX && kid !== undefined && keyring.has(kid)
    },

    /** @throws SealError */
    open(text: string): { readonly kid: string; readonly plain: Buffer } {
      if (text.length > MAX_LENGTH) throw new SealError('length')
      const [prefix, kid, encoded, more] = text.split('.')
      if (prefix !== PREFIX || kid === undefined || encoded === undefined || more !== undefined) {
        throw new SealError('prefix')
      }
      if (!keyring.has(kid)) throw new SealError('kid')
      const sealed = Buffer.from(encoded, 'base64url')
      // Decoding is lenient; only the one spelling that we wrote may open.
      if (sealed.length < SALT_BYTES + TAG_BYTES || sealed.toString('base64url') !== encoded)
        throw new SealError('seal')
      const salt = sealed.subarray(0, SALT_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', keyring.derive(kid, purpose, salt), NONCE)
      decipher.setAAD(bound(kid))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        const plain = Buffer.concat([
          decipher.update(sealed.subarray(SALT_BYTES, -TAG_BYTES)),
          decipher.final(),
        ])
        return { kid, plain }
      } catch {
        throw new SealError('seal')
      }
    },
  }
}

export type Seal = ReturnType<typeof createSeal>
