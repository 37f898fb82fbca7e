import { z } from 'zod'

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

export const count = (value: number, what: string) =>
  z.number().int().min(1).max(10_000_000).default(value).describe(what)

/** A section that may be left out: all its options have defaults. */
export function section<T extends z.ZodRawShape>(shape: T) {
  const object = z.strictObject(shape)
  return object.prefault({} as z.input<typeof object>)
}

export const file = z.string().nullable().default(null)

export const url = z.string().superRefine((given, context) => {
  const problem = urlProblem(given)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

function urlProblem(given: string): string | undefined {
  const parsed = URL.canParse(given) ? new URL(given) : undefined
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) return 'must be an http:// or https:// URL'
  if (parsed.username !== '' || parsed.password !== '') return 'must not contain credentials: use upstream.headers'
  return given.includes('#') ? 'must not have a fragment' : undefined
}

export const path = z
  .string()
  .regex(/^\/[^?#\s]*$/, 'must start with / and contain no ?, # or white space')

const ADDRESS = /^(?:(?:\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):)?(\d{1,5})$/

/** `host:port`, `[::1]:port`, or a port alone, which means 127.0.0.1. */
export const address = z.union([z.string(), z.number()]).transform((given, context) => {
  const text = String(given)
  const port = Number(ADDRESS.exec(text)?.[1] ?? Number.NaN)
  if (!(port <= 65_535)) {
    context.addIssue({ code: 'custom', message: 'must be host:port, [ipv6]:port or a port' })
    return z.NEVER
  }
  return text.includes(':') ? text : `127.0.0.1:${text}`
})

/** A key of 32 bytes. The value is a secret, so the message never shows it. */
export const key = z.string().refine((given) => keyBytes(given) !== undefined, 'must be 32 bytes, as 64 hex digits or 43 characters of base64url')

export function keyBytes(given: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(given)) return Buffer.from(given, 'hex')
  if (!/^[A-Za-z0-9_-]{43}=?$/.test(given)) return undefined
  const bytes = Buffer.from(given, 'base64url')
  return bytes.length === 32 ? bytes : undefined
}
