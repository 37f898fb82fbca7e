import { headers as headerRules, MAX_MS, url as urlRules } from '../options/kinds.ts'
import { type ProbeOptions, probe } from './probe.ts'
import { report } from './report.ts'

/** What the command line gave; cac makes one value of an option that is given once, and numbers of digits. */
export interface ProbeFlags {
  readonly header?: unknown
  readonly timeout?: unknown
  readonly json?: boolean
}

const TIMEOUT_MS = 10_000

/** Probes a server and prints what was seen; 0 if it can be used, 1 if not, 2 for wrong arguments. */
export async function runProbe(address: string, flags: ProbeFlags): Promise<number> {
  const options = read(address, flags)
  if (Array.isArray(options)) {
    for (const problem of options) process.stderr.write(`mrtr-proxy: ${problem}\n`)
    return 2
  }
  // Whoever does not want to wait still leaves no session behind; a second signal ends it at once.
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  const facts = await probe(options, interrupted.signal)
  if (interrupted.signal.aborted) return 130
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR
  process.stdout.write(flags.json ? `${JSON.stringify(facts, null, 2)}\n` : report(facts, colour))
  return facts.usable ? 0 : 1
}

/** The options, or a line for each problem; values of headers are in none of them. */
function read(address: string, { header, timeout }: ProbeFlags): ProbeOptions | string[] {
  const problems: string[] = []
  const url = urlRules.safeParse(address)
  for (const { message } of url.error?.issues ?? [])
    problems.push(`URL: ${message.replace('upstream.headers', '--header')}`)
  const timeoutMs = timeout === undefined ? TIMEOUT_MS : timeout
  const timed =
    typeof timeoutMs === 'number' && Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_MS
  if (!timed) problems.push('--timeout: must be a number of milliseconds, at least 1')
  const pairs = (header === undefined ? [] : [header].flat()).map(pairOf)
  const names = pairs.map(([name]) => name)
  if (pairs.some(([name]) => name === '')) problems.push("--header: must be 'name: value'")
  else if (new Set(names).size < names.length) problems.push('--header: a name is there twice')
  else {
    const { error } = headerRules.safeParse(Object.fromEntries(pairs))
    for (const { message, path } of error?.issues ?? [])
      problems.push(`--header ${path.join('.')}: ${message}`)
  }
  if (problems.length > 0 || !timed) return problems
  return { url: new URL(address), headers: Object.fromEntries(pairs), timeoutMs }
}

/** Name and value; the name is empty if it is no header, and what stands there is not repeated. */
function pairOf(line: unknown): [string, string] {
  const [, name = '', value = ''] = /^([^\s:]+):\s*(.*?)\s*$/s.exec(String(line)) ?? []
  return [name.toLowerCase(), value]
}
