import type { Incoming } from './message.ts'
import { at, stringOf } from './scan.ts'

/** The levels of log messages, the most verbose first (RFC 5424). */
const levels: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** The level of a `notifications/message`, if it has one. */
export function logLevelOf({ text, root }: Incoming): string | undefined {
  return stringOf(text, at(root, 'params', 'level'))
}

/** `level` is as severe as `threshold` or more; false if either is missing or unknown (M-LOG-01). */
export function atLeast(level: string | undefined, threshold: string | undefined): boolean {
  const needed = rank(threshold)
  return needed !== -1 && rank(level) >= needed
}

function rank(level: string | undefined): number {
  return level === undefined ? -1 : levels.indexOf(level)
}
