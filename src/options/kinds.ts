import { isIP, isIPv6 } from 'node:net'
import { z } from 'zod'
import { isPlainHeader, keyBytes } from './words.ts'

/** Longest time that a timer of Node can wait. */
export const MAX_MS = 2 ** 31 - 1

export const ms = (value: number, what: string) =>
  z.number().int().min(1).max(MAX_MS).default(value).describe(`${what} (ms)`)

/** A bound that cannot be switched off: 0 means the default, since a lost value must not abort at once (case 14). */
export const timeout = (value: number, what: string) =>
  z
    .number()
    .int()
    .min(0)
    .max(MAX_MS)
    .default(value)
    .transform((given) => (given === 0 ? value : given))
    .describe(`${what} (ms; 0 = ${value})`)

export const orOff = (value: number, what: string) =>
  z.number().int().min(0).max(MAX_MS).default(value).describe(`${what} (ms; 0 = off)`)

/** A wait that may be left out: 0 means none at all. */
export const wait = (value: number, what: string, max = MAX_MS) =>
  z.number().int().min(0).max(max).default(value).describe(`${what} (ms)`)

export const count = (value: number, what: string) =>
  z.number().int().min(1).max(10_000_000).default(value).describe(what)

/** A section that may be left out, or written with nothing under it: all its options have defaults. */
export function section<T extends z.ZodRawShape>(shape: T) {
  return z.preprocess((given) => given ?? {}, z.strictObject(shape)).prefault({})
}

export const file = z.string().min(1).nullable().default(null)

const text = (fault: (given: string) => string | undefined) =>
  z.string().superRefine((given, context) => {
    const message = fault(given)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

export const url = text(urlFault)

/** A URL of ours, which clients know by these very characters. */
export const publicUrl = text(
  (given) => urlFault(given) ?? (given.includes('?') ? 'must not have a query' : undefined),
)

function urlFault(given: string): string | undefined {
  const parsed = URL.canParse(given) ? new URL(given) : undefined
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol))
    return 'must be an http:// or https:// URL'
  if (parsed.username !== '' || parsed.password !== '')
    return 'must not contain credentials: use upstream.headers'
  return given.includes('#') ? 'must not have a fragment' : undefined
}

export const path = z.string().regex(/^\/[^?#\s]*$/, 'must start with / and contain no ?, # or white space')

const ADDRESS = /^(?:(\[[0-9a-fA-F:.]+\]|[^\s:/?#@[\]]+):)?(\d{1,5})$/

const spelled = z.union([z.string(), z.number()])

/** `host:port`, `[::1]:port`, or a port alone, which means 127.0.0.1. */
export const address = spelled.transform(addressOf)
export const addressOrOff = spelled.transform((given, context) =>
  given === 'off' ? 'off' : addressOf(given, context),
)

function addressOf(given: string | number, context: z.RefinementCtx): string {
  const [, host = '127.0.0.1', digits] = ADDRESS.exec(String(given)) ?? []
  const port = Number(digits ?? Number.NaN)
  if (!(port <= 65_535) || (host.startsWith('[') && !isIPv6(host.slice(1, -1)))) {
    context.addIssue({ code: 'custom', message: 'must be host:port, [ipv6]:port or a port' })
    return z.NEVER
  }
  return `${host}:${port}`
}

/** A key of 32 bytes. The value is a secret, so the message never shows it. */
export const key = z
  .string()
  .refine(
    (given) => keyBytes(given) !== undefined,
    'must be 32 bytes, as 64 hex digits or 43 characters of base64url',
  )

const HEADER_FAULT =
  'is not a header that can be sent: it is malformed, or the connection, the message or MCP owns it'

export const header = z.string().refine(isPlainHeader, HEADER_FAULT)

/** Names to values; a fault is told at the name, since the values may be secrets. */
export const headers = z.record(z.string(), z.string()).superRefine((given, context) => {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(given)) {
    const add = (message: string): void => context.addIssue({ code: 'custom', path: [name], message })
    if (!isPlainHeader(name)) add(HEADER_FAULT)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    if (/[\0-\x08\x0a-\x1f\x7f]|[^\0-\xff]/.test(value))
      add('must not have line breaks, control or wide characters')
    if (seen.has(name.toLowerCase())) add('is there twice')
    seen.add(name.toLowerCase())
  }
})

export const host = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?$/, 'must be a host name, with or without a port')

export const origin = text((given) =>
  URL.canParse(given) && new URL(given).origin === given.toLowerCase()
    ? undefined
    : 'must be an origin, such as https://app.example',
)

/** An address, or a subnet such as `10.0.0.0/8`. */
export const network = text((given) => {
  const [ip = '', bits, more] = given.split('/')
  const family = isIP(ip)
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
  return family > 0 && fits && more === undefined ? undefined : 'must be an IP address or a subnet'
})
