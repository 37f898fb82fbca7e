import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

const SECRETS = ['authorization', 'cookie', 'key', 'keys', 'token', 'requestState', 'headers']

/**
 * The process's log: JSON lines on standard output. Fields, not sentences; never bodies, answers, tokens or
 * principals, and what could carry a credential is cut out all the same.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  const paths = SECRETS.flatMap((name) => [name, `*.${name}`])
  return pino({ level, redact: { paths, remove: true } }, destination)
}
