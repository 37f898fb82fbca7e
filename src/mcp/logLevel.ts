import type { Incoming } from './message.ts'
import { at, textOf } from './scan.ts'

/** The levels of log messages, the most verbose first (RFC 5424). */
export const logLevels: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** The level of a `notifications/message`, if it has one, as it is written: no known one has an escape. */
export function logLevelOf({ text, root }: Incoming): string | undefined {
  const level = at(root, 'params', 'level')
  return level?.kind === 'string' ? textOf(text, level).toString('latin1').slice(1, -1) : undefined
}

/** `level` is as severe as `threshold` or more; false if either is missing or unknown (M-LOG-01). */
export function atLeast(level: string | undefined, threshold: string | undefined): boolean {
  const needed = rank(threshold)
  return needed !== -1 && rank(level) >= needed
}

function rank(level: string | undefined): number {
  return level === undefined ? -1 : logLevels.indexOf(level)
}
