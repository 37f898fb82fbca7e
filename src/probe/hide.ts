/** Takes secrets out of what a server wrote, since some repeat what they were sent. */
export interface Hide {
  text(text: string): string
  /** Everywhere inside a JSON value, names included. */
  value(value: unknown): unknown
}

/** Shorter values are no secrets, and words of their own. */
const MIN_LENGTH = 6
const MAX_DEPTH = 64
/** Words of challenges too. */
const SCHEME = /^(bearer|basic|digest|negotiate)$/i

/** Hides the values of `headers`, the parts of them that schemes set apart, and those of the URL's query. */
export function createHide(headers: Readonly<Record<string, string>>, url: URL): Hide {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/[\s;,]+/), decoded(value)])
  const secrets = [...values, ...url.searchParams.values(), url.search.slice(1)]
    .map((value) => value.trim())
    .filter((value) => value.length >= MIN_LENGTH && !SCHEME.test(value))
    .sort((one, other) => other.length - one.length)

  const text = (given: string): string =>
    secrets.reduce((hidden, secret) => hidden.replaceAll(secret, '[hidden]'), given)

  function value(given: unknown, depth = 0): unknown {
    if (typeof given === 'string') return text(given)
    if (typeof given !== 'object' || given === null) return given
    if (depth > MAX_DEPTH) return null
    if (Array.isArray(given)) return given.map((each) => value(each, depth + 1))
    return Object.fromEntries(
      Object.entries(given).map(([name, member]) => [text(name), value(member, depth + 1)]),
    )
  }

  return { text, value: (given) => value(given) }
}

/** What a basic credential says in the clear. */
function decoded(value: string): string {
  const [, text = ''] = /^basic\s+(\S+)$/i.exec(value) ?? []
  const pair = Buffer.from(text, 'base64').toString()
  return pair.slice(pair.indexOf(':') + 1)
}
