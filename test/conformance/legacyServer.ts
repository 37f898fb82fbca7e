import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { GetPromptResult } from '@modelcontextprotocol/sdk/types.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Extra } from './asking.ts'
import { type Bench, form, PNG, tools } from './tools.ts'

type Content = GetPromptResult['messages'][number]['content']

const words = (text: string): Content => ({ type: 'text', text })
const messages = (...contents: Content[]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: 'user', content })),
})

interface FixturePrompt {
  readonly description: string
  readonly arguments?: readonly string[]
  readonly get: (bench: Bench, extra: Extra, args: Record<string, string>) => Promise<GetPromptResult>
}

const prompts: Readonly<Record<string, FixturePrompt>> = {
  test_simple_prompt: {
    description: 'A sentence.',
    get: async () => messages(words('This is a simple prompt for testing.')),
  },
  test_prompt_with_arguments: {
    description: 'A sentence with two words filled in.',
    arguments: ['arg1', 'arg2'],
    get: async (_bench, _extra, { arg1, arg2 }) => messages(words(`arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    description: 'A resource and a sentence.',
    arguments: ['resourceUri'],
    get: async (_bench, _extra, { resourceUri: uri = '' }) =>
      messages(
        { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'embedded' } },
        words('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: {
    description: 'A dot and a sentence.',
    get: async () =>
      messages({ type: 'image', data: PNG, mimeType: 'image/png' }, words('Please analyze the image above.')),
  },
  test_input_required_result_prompt: {
    description: 'Asks for its context.',
    async get({ ask }, extra) {
      const { content } = await ask.elicit(extra, form('What context should the prompt use?', 'context'))
      return messages(words(`in ${content?.context}`))
    },
  },
}

const TEMPLATE = /^test:\/\/template\/(\w+)\/data$/

function read(uri: string) {
  const id = TEMPLATE.exec(uri)?.[1]
  if (id !== undefined) return { uri, mimeType: 'application/json', text: JSON.stringify({ id }) }
  if (uri === 'test://static-text') return { uri, mimeType: 'text/plain', text: 'static text' }
  if (uri === 'test://static-binary') return { uri, mimeType: 'image/png', blob: PNG }
  throw new McpError(-32002, 'Resource not found', { uri })
}

/** One SDK v1 server with everything that the suite asks for; one per session, `bench` once it is connected. */
export function createLegacyServer(bench: () => Bench): Server {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: {},
        completions: {},
        logging: {},
      },
    },
  )

  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: Object.entries(tools).map(
      ([name, { description, inputSchema = { type: 'object' as const } }]) => ({
        name,
        description,
        inputSchema,
      }),
    ),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = tools[params.name]
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `no tool ${params.name}`)
    return await tool.run(bench(), extra, params.arguments ?? {})
  })

  server.setRequestHandler(ListPromptsRequestSchema, async () => ({
    prompts: Object.entries(prompts).map(([name, prompt]) => ({
      name,
      description: prompt.description,
      arguments: (prompt.arguments ?? []).map((each) => ({ name: each, required: true })),
    })),
  }))
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
    const prompt = prompts[params.name]
    if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `no prompt ${params.name}`)
    return await prompt.get(bench(), extra, params.arguments ?? {})
  })

  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: ['test://static-text', 'test://static-binary'].map((uri) => ({ uri, name: uri })),
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }) => ({
    contents: [read(params.uri)],
  }))

  server.setRequestHandler(CompleteRequestSchema, async ({ params }) => ({
    completion: { values: ['test', 'testing'].filter((each) => each.startsWith(params.argument.value)) },
  }))

  return server
}
