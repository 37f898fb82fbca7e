import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEverything } from '../fixtures/everything.ts'
import { startGateway } from '../fixtures/gateway.ts'
import { at, firstText } from '../fixtures/json.ts'
import { connectOfficial } from '../fixtures/officialClient.ts'

const FORM = { name: 'Ada Lovelace', check: true, integer: 7 }
const ASKING = ['trigger-elicitation-request', 'trigger-sampling-request', 'get-roots-list']

/** The official client of 2026-07-28 uses server-everything through the gateway, on one of its transports. */
export function describeEverything(mode: 'sse' | 'streamableHttp'): void {
  let everything: Awaited<ReturnType<typeof startEverything>>
  beforeAll(async () => {
    everything = await startEverything(mode)
  })
  afterAll(() => everything.stop())

  async function connect(...set: string[]) {
    const { url } = await startGateway(everything.url, ...set)
    return await connectOfficial(url, { content: FORM })
  }

  describe(`server-everything over ${mode}`, () => {
    it('lists all tools, those that need client capabilities too', async () => {
      const { client } = await connect()
      const names = (await client.listTools()).tools.map((tool) => tool.name)
      expect(names).toEqual(expect.arrayContaining(['echo', 'get-sum', ...ASKING]))
    })

    it('M-BASE-11: lists without them for a client that declares nothing', async () => {
      const { url } = await startGateway(everything.url)
      const able = await connectOfficial(url, { content: FORM })
      const plain = await connectOfficial(url, { capabilities: {} })
      expect((await able.client.listTools()).tools.map((tool) => tool.name)).toContain('get-roots-list')
      const names = (await plain.client.listTools()).tools.map((tool) => tool.name)
      expect(names).toContain('echo')
      for (const name of ASKING) expect(names).not.toContain(name)
    })

    it('tells who it is', async () => {
      const { client } = await connect()
      expect(client.getServerVersion()).toMatchObject({ name: 'mcp-servers/everything', version: '2.0.0' })
      expect(client.getServerCapabilities()).toMatchObject({
        tools: {},
        prompts: {},
        resources: {},
        logging: {},
      })
      expect(client.getServerCapabilities()).not.toHaveProperty('tasks')
    })

    it('runs echo and get-sum', async () => {
      const { client } = await connect()
      const echo = await client.callTool({ name: 'echo', arguments: { message: 'hello' } })
      expect(firstText(echo)).toBe('Echo: hello')
      const sum = await client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } })
      expect(firstText(sum)).toBe('The sum of 2 and 3 is 5.')
    })

    it('elicits', async () => {
      const { client, asked } = await connect()
      const result = await client.callTool({ name: 'trigger-elicitation-request' })
      expect(asked).toContain('elicitation/create')
      expect(JSON.stringify(result.content)).toContain('Ada Lovelace')
      expect(result.isError).not.toBe(true)
    })

    it('samples', async () => {
      const { client, asked } = await connect()
      const args = { prompt: 'say blue', maxTokens: 20 }
      const result = await client.callTool({ name: 'trigger-sampling-request', arguments: args })
      expect(asked).toContain('sampling/createMessage')
      expect(firstText(result)).toContain('"text": "blue"')
    })

    it('asks for roots', async () => {
      const { client, asked } = await connect()
      const result = await client.callTool({ name: 'get-roots-list' })
      expect(asked).toContain('roots/list')
      expect(firstText(result)).toContain('file:///blue')
    })

    it.each([10, 2])(
      'delivers every progress notification of a long operation in %i steps',
      async (steps) => {
        // Some 350 ms into it the server asks for roots: with ten steps the question never finds the call
        // quiet, with two it makes a round of its own between them.
        const { client, asked } = await connect()
        const heard: number[] = []
        const result = await client.callTool(
          { name: 'trigger-long-running-operation', arguments: { duration: 1.2, steps } },
          // The client adds a notice of its own for each round, without a total.
          { onprogress: ({ progress, total }) => total === steps && heard.push(progress) },
        )
        expect(firstText(result)).toContain(`Steps: ${steps}.`)
        expect(heard).toEqual(Array.from({ length: steps }, (_, index) => index + 1))
        if (steps === 2) expect(asked).toEqual(['roots/list'])
      },
    )

    it('reads resources and templates', async () => {
      const { client } = await connect()
      const { resources } = await client.listResources()
      const [first] = resources
      const uri = String(first?.uri)
      expect((await client.readResource({ uri })).contents[0]).toMatchObject({ uri })
      const { resourceTemplates } = await client.listResourceTemplates()
      expect(resourceTemplates.length).toBeGreaterThan(1)
      const dynamic = await client.readResource({ uri: 'demo://resource/dynamic/text/3' })
      expect(String(at(dynamic, 'contents', 0, 'text'))).toContain('Resource 3')
    })

    it('gets prompts and completes their arguments', async () => {
      const { client } = await connect()
      expect((await client.listPrompts()).prompts.map((prompt) => prompt.name)).toContain('simple-prompt')
      const prompt = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Oslo' } })
      expect(at(prompt, 'messages', 0, 'content', 'text')).toBe("What's weather in Oslo?")
      const completed = await client.complete({
        ref: { type: 'ref/prompt', name: 'completable-prompt' },
        argument: { name: 'name', value: 'A' },
        context: { arguments: { department: 'Engineering' } },
      })
      expect(completed.completion.values).toEqual(['Alice'])
    })
  })
}
