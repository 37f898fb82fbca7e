/** The 32 bytes of a key as it is written, hex or base64url; undefined for anything else. */
export function keyBytes(given: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(given)) return Buffer.from(given, 'hex')
  if (!/^[A-Za-z0-9_-]{43}=?$/.test(given)) return undefined
  return Buffer.from(given, 'base64url')
}

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** The connection's, the message's, the protocol's or ours. */
const OWNED =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect|content-.*|mcp-.*|accept|last-event-id|__proto__)$/

/** Whether a header of that name may be sent upstream for a caller or by the options. */
export function isPlainHeader(name: string): boolean {
  return HEADER.test(name) && !OWNED.test(name.toLowerCase())
}
