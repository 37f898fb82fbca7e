import type { IncomingMessage } from 'node:http'

/** Where a redirect leads, if it is one that keeps verb and body and stays on the origin. */
export function redirectOf({ statusCode, headers }: IncomingMessage, from: URL): URL | undefined {
  const { location } = headers
  if ((statusCode !== 307 && statusCode !== 308) || location === undefined) return undefined
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined
  return to?.origin === from.origin ? to : undefined
}
