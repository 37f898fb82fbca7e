import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { listening } from '../fixtures/listening.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'
import { expectNoFaults, runClientScenario } from './suite.ts'

type Official = Awaited<ReturnType<typeof connectOfficial>>['client']

const RUN_TIMEOUT_MS = 30_000
/** The defaults that the suite's form suggests, and that it wants to see accepted. */
const DEFAULTS = { name: 'John Doe', age: 30, score: 95.5, status: 'active', verified: true }

/** What the client of 2026-07-28 does in each scenario; the suite plays the server of 2025-11-25. */
const scenarios: Readonly<Record<string, (client: Official) => Promise<unknown>>> = {
  initialize: (client) => client.discover(),
  tools_call: async (client) => {
    await client.listTools()
    return await client.callTool({ name: 'add_numbers', arguments: { a: 2, b: 3 } })
  },
  'elicitation-sep1034-client-defaults': (client) =>
    client.callTool({ name: 'test_client_elicitation_defaults', arguments: {} }),
  'sse-retry': (client) => client.callTool({ name: 'test_reconnection', arguments: {} }),
}

describe('the conformance suite as the upstream, for what the gateway is to it', () => {
  it.each(Object.entries(scenarios))(
    '2025-11-25: %s',
    async (scenario, act) => {
      let result: unknown
      /** Called back with the address of the suite's server; the suite looks at what it heard after the answer. */
      const test = await listening(async (incoming, response) => {
        try {
          let upstream = ''
          for await (const chunk of incoming) upstream += chunk
          const gateway = await startGateway(upstream)
          const { client } = await connectOfficial(gateway.url, { content: DEFAULTS })
          result = await act(client)
          await gateway.close()
          response.end('done')
        } catch (error) {
          response.writeHead(500).end(String(error))
        }
      })
      const { scenarios: ran, output } = await runClientScenario(scenario, test.origin).finally(test.close)
      expect([...ran.keys()], output).toEqual([scenario])
      expectNoFaults(ran.get(scenario))
      expect(result, output).toBeDefined()
      if (scenario === 'elicitation-sep1034-client-defaults')
        expect(JSON.stringify(result)).toContain('completed')
    },
    RUN_TIMEOUT_MS,
  )
})
