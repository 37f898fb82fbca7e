import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

/** One check of a scenario, as the suite writes it down. */
const Check = z.object({
  id: z.string(),
  status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
  description: z.string(),
  errorMessage: z.string().optional(),
  details: z.unknown().optional(),
})
export type Check = z.infer<typeof Check>

export interface SuiteRun {
  /** The checks of each scenario that ran. */
  readonly scenarios: ReadonlyMap<string, readonly Check[]>
  readonly code: number | null
  readonly output: string
}

const REVISION = '2026-07-28'
const STAMP = /-\d{4}-\d\d-\d\dT[\dZ-]+$/

const suite = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'),
)
const preload = new URL('globSync.js', import.meta.url).href

/** Runs the official suite with these arguments and reads what it wrote. */
async function runSuite(...args: string[]): Promise<SuiteRun> {
  const results = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    const main = join(suite, 'dist/index.js')
    const child = spawn(process.execPath, ['--import', preload, main, ...args, '--output-dir', results], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    await once(child, 'close')
    const scenarios = new Map<string, readonly Check[]>()
    for (const folder of await readdir(results)) {
      const scenario = folder.replace(/^server-/, '').replace(STAMP, '')
      // A scenario that broke off wrote nothing.
      const written = await readFile(join(results, folder, 'checks.json'), 'utf8').catch(() => '[]')
      scenarios.set(scenario, z.array(Check).parse(JSON.parse(written)))
    }
    return { scenarios, code: child.exitCode, output }
  } finally {
    await rm(results, { recursive: true, force: true })
  }
}

/** Everything that the revision requires of a server, and what the suite holds ready for it. */
export function runServerSuite(url: string): Promise<SuiteRun> {
  return runSuite('server', '--url', url, '--requirements', REVISION)
}

/** One scenario that plays a server of 2025-11-25; `client` is given its address. */
export function runClientScenario(scenario: string, test: string): Promise<SuiteRun> {
  const client = fileURLToPath(new URL('callBack.js', import.meta.url))
  const command = `${process.execPath} ${client} ${test}`
  return runSuite('client', '--command', command, '--scenario', scenario, '--spec-version', '2025-11-25')
}

const Requirements = z.object({
  server: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string(), reason: z.string() })),
})

/** The scenarios that the revision requires of a server, by the suite's own list, and those that are pending. */
export async function serverScenarios(): Promise<{ required: string[]; pending: string[] }> {
  const list = await readFile(join(suite, 'requirements', `${REVISION}.yaml`), 'utf8')
  const { server, not_scored } = Requirements.parse(parse(list))
  const pending = not_scored.filter((each) => each.leg === 'server' && each.reason === 'pending')
  return { required: server, pending: pending.map((each) => each.scenario) }
}

/** Fails with what a scenario found wrong, a line or more a check. */
export function expectNoFaults(checks: readonly Check[] = []): void {
  const faults = checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, description, errorMessage, details }) =>
      [`${status} ${id}: ${description}`, errorMessage, JSON.stringify(details)?.slice(0, 1_500)].join(
        '\n  ',
      ),
    )
  if (checks.length === 0) faults.push('nothing was checked')
  expect(faults.length, ['', ...faults, ''].join('\n')).toBe(0)
}
