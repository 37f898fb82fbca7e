import { type Logger, pino } from 'pino'

export type Log = Logger

/**
 * The process's log: JSON lines on standard output. Fields, not sentences; never bodies, answers, tokens or
 * principals, and what could carry a credential is cut out all the same.
 */
export function createLog(level: string): Log {
  const secrets = ['authorization', 'cookie', 'key', 'keys', 'token', 'requestState', 'headers']
  return pino({ level, redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), remove: true } })
}
