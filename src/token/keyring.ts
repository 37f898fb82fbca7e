import { createHash, hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { keyBytes } from '../options/words.ts'

/** The keys of one gateway, or of all its replicas. */
export interface Keyring {
  /** No key was given, so that nothing sealed outlives this process. */
  readonly ephemeral: boolean
  /** Name of the key that seals. */
  current(): string
  has(kid: string): boolean
  /** 32 bytes for one purpose, from the key of that name. */
  derive(kid: string, purpose: string, salt: Buffer): Buffer
  /** Reads the file again; on any problem the keys stay as they are. @throws Error that names the file */
  reload(): void
}

const KEY_BYTES = 32
const NO_SALT = Buffer.alloc(0)

/**
 * Keys of 32 bytes, hex or base64url, from the options and from a file with one a line. The first seals, all
 * open (design §7). Purposes are kept apart by HKDF.
 *
 * @throws Error for a file that cannot be read or has a line that is no key
 */
export function createKeyring(options: {
  readonly keys: readonly string[]
  readonly keysFile: string | null
}): Keyring {
  const ephemeral = options.keys.length === 0 && options.keysFile === null
  let ring = load()

  function load(): Map<string, Buffer> {
    if (ephemeral) return new Map([named(randomBytes(KEY_BYTES))])
    const { keysFile } = options
    const lines =
      keysFile === null
        ? []
        : readFileSync(keysFile, 'utf8')
            .split(/\s+/)
            .filter((line) => line !== '')
    const loaded = new Map<string, Buffer>()
    for (const [index, text] of [...options.keys, ...lines].entries()) {
      const bytes = keyBytes(text)
      if (bytes === undefined)
        throw new Error(`${keysFile}: key ${index + 1} is not 32 bytes in hex or base64url`)
      loaded.set(...named(bytes))
    }
    if (loaded.size === 0) throw new Error(`${keysFile}: has no key`)
    return loaded
  }

  return {
    ephemeral,
    current() {
      const [kid] = ring.keys()
      if (kid === undefined) throw new Error('the keyring is empty')
      return kid
    },
    has: (kid) => ring.has(kid),
    derive(kid, purpose, salt) {
      const key = ring.get(kid)
      if (key === undefined) throw new Error('there is no such key')
      return Buffer.from(hkdfSync('sha256', key, salt, `mrtr-proxy ${purpose}`, KEY_BYTES))
    },
    reload() {
      if (!ephemeral) ring = load()
    },
  }
}

/** A key under a name that tells nothing of it. */
function named(key: Buffer): [string, Buffer] {
  const id = Buffer.from(hkdfSync('sha256', key, NO_SALT, 'mrtr-proxy key id', KEY_BYTES))
  return [createHash('sha256').update(id).digest('base64url').slice(0, 8), key]
}
