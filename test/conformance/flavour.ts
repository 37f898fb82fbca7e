import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { loadOptions } from '../../src/options/load.ts'
import { type Flavour, startLegacyUpstream } from './legacyUpstream.ts'
import { expectNoFaults, runServerSuite, type SuiteRun, serverScenarios } from './suite.ts'

const RUN_TIMEOUT_MS = 90_000

const { required, pending } = await serverScenarios()

/** The official suite against the gateway, with a legacy server of this flavour behind it. */
export function describeFlavour(flavour: Flavour): void {
  let upstream: Awaited<ReturnType<typeof startLegacyUpstream>>
  let gateway: Gateway
  let run: SuiteRun

  beforeAll(async () => {
    upstream = await startLegacyUpstream(flavour)
    const flags = { upstream: upstream.url, listen: '127.0.0.1:0', admin: 'off', set: [] }
    gateway = createGateway(loadOptions({ env: {}, flags }))
    const { url } = await gateway.listen()
    run = await runServerSuite(url('/mcp'))
  }, RUN_TIMEOUT_MS)

  afterAll(async () => {
    await gateway.close()
    await upstream.close()
  })

  describe(`the conformance suite, ${flavour}`, () => {
    it.each(required)('required: %s', (scenario) => {
      expectNoFaults(run.scenarios.get(scenario))
    })

    it.each(pending)('pending: %s', (scenario) => {
      expectNoFaults(run.scenarios.get(scenario))
    })

    it('is content as a whole', () => {
      expect([required.length, pending.length]).toEqual([37, 3])
      expect(run.code, run.output.slice(run.output.indexOf('=== SUMMARY'))).toBe(0)
    })

    if (flavour === 'resumption') {
      it('L-HTTP-04: resumed streams on the way', () => expect(upstream.resumed()).toBeGreaterThan(10))
    }

    it('leaves nothing behind', async () => {
      expect(await gateway.close()).toEqual({ sessions: 0, exchanges: 0, legs: 0, sockets: 0, timers: 0 })
    })
  })
}
