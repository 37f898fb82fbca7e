import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Json } from '../fixtures/json.ts'
import type { Asking, Extra, Form } from './asking.ts'

/** What a tool of the fixture has at hand. */
export interface Bench {
  readonly ask: Asking
  /** The capabilities that the client declared at `initialize`. */
  readonly client: () => Json
  /** Tells every session that a list has changed. */
  readonly changed: (list: 'tools' | 'prompts') => Promise<void>
}

export interface FixtureTool {
  readonly description: string
  readonly inputSchema?: Tool['inputSchema']
  readonly run: (bench: Bench, extra: Extra, args: Json) => Promise<CallToolResult>
}

/** One red dot. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
/** No sound. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] })
const says =
  (words: string): FixtureTool['run'] =>
  async () =>
    text(words)

/** A form with one required field. */
export function form(message: string, field: string, type: 'string' | 'boolean' = 'string'): Form {
  const property = type === 'string' ? { type } : { type }
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [field]: property }, required: [field] },
  }
}

const STEP_MS = 20
const step = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, STEP_MS))

/** The tools that the suite wants, by the names it wants. */
export const tools: Readonly<Record<string, FixtureTool>> = {
  test_simple_text: {
    description: 'Says a sentence.',
    run: says('This is a simple text response for testing.'),
  },
  test_image_content: {
    description: 'Shows a dot.',
    run: async () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
  },
  test_audio_content: {
    description: 'Is silent.',
    run: async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  test_embedded_resource: {
    description: 'Embeds a resource.',
    run: async () => ({
      content: [
        {
          type: 'resource',
          resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'embedded' },
        },
      ],
    }),
  },
  test_multiple_content_types: {
    description: 'Says, shows and embeds.',
    run: async () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data"}',
          },
        },
      ],
    }),
  },
  test_error_handling: {
    description: 'Always fails.',
    run: async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  },
  test_tool_with_progress: {
    description: 'Takes three steps.',
    async run({ ask }, extra) {
      const progressToken = extra._meta?.progressToken
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100 }
          await ask.notify(extra, { method: 'notifications/progress', params })
        }
        // Not after the last one: on a stream of its own it may come later than the result, and must not be lost.
        if (progress < 100) await step()
      }
      return text('done')
    },
  },
  test_logging_tool: {
    description: 'Logs, whatever the level.',
    async run({ ask }, extra) {
      const params = { level: 'error' as const, data: 'something happened' }
      await ask.notify(extra, { method: 'notifications/message', params })
      return text('logged')
    },
  },
  test_missing_capability: {
    description: 'Cannot do without sampling.',
    run: async ({ ask }, extra) => text((await ask.sample(extra, 'Say something', 10)).model),
  },
  test_streaming_elicitation: {
    description: 'Asks for a name.',
    run: async ({ ask }, extra) => text((await ask.elicit(extra, form('What is your name?', 'name'))).action),
  },
  test_input_required_result_elicitation: {
    description: 'Asks for a name, under a key of its own.',
    async run({ ask }, extra) {
      const { content } = await ask.elicitAs('user_name', extra, form('What is your name?', 'name'))
      return text(`Hello, ${content?.name}!`)
    },
  },
  test_input_required_result_sampling: {
    description: 'Asks the model for a capital.',
    async run({ ask }, extra) {
      const { content } = await ask.sample(extra, 'What is the capital of France?', 100)
      return text(JSON.stringify(content))
    },
  },
  test_input_required_result_list_roots: {
    description: 'Asks for the roots.',
    run: async ({ ask }, extra) => text((await ask.roots(extra)).roots.map((root) => root.uri).join(' ')),
  },
  test_input_required_result_request_state: {
    description: 'Asks for a confirmation.',
    async run({ ask }, extra) {
      const { content } = await ask.elicit(extra, form('Please confirm', 'ok', 'boolean'))
      return text(content?.ok === true ? 'state-ok' : 'not confirmed')
    },
  },
  test_input_required_result_multiple_inputs: {
    description: 'Asks three things at once.',
    async run({ ask }, extra) {
      const [name, greeting, { roots }] = await Promise.all([
        ask.elicitAs('user_name', extra, form('What is your name?', 'name')),
        ask.sample(extra, 'Generate a greeting', 50),
        ask.roots(extra),
      ])
      return text(JSON.stringify([name.content, greeting.content, roots]))
    },
  },
  test_input_required_result_multi_round: {
    description: 'Asks twice.',
    async run({ ask }, extra) {
      const first = await ask.elicit(extra, form('Step 1: What is your name?', 'name'))
      const second = await ask.elicit(extra, form('Step 2: What is your favorite color?', 'color'))
      return text(`${first.content?.name} likes ${second.content?.color}`)
    },
  },
  test_input_required_result_tampered_state: {
    description: 'Asks for a confirmation.',
    run: async ({ ask }, extra) =>
      text((await ask.elicit(extra, form('Please confirm', 'ok', 'boolean'))).action),
  },
  test_input_required_result_capabilities: {
    description: 'Asks what its client can answer.',
    async run({ ask, client }, extra) {
      const { sampling, elicitation } = client()
      if (sampling !== undefined) await ask.sample(extra, 'Say something', 10)
      if (elicitation !== undefined) await ask.elicit(extra, form('What is your name?', 'name'))
      return text('asked')
    },
  },
  json_schema_2020_12_tool: {
    description: 'Has a schema of many words.',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: says('valid'),
  },
  test_mirrored_parameters: {
    description: 'Has parameters that travel in headers too.',
    inputSchema: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        limit: { type: 'integer', 'x-mcp-header': 'Limit' },
        query: { type: 'string' },
      },
      required: ['region'],
    },
    run: async (_bench, _extra, args) => text(String(args.region)),
  },
  test_trigger_tool_change: {
    description: 'Tells that the tools have changed.',
    async run({ changed }) {
      await changed('tools')
      return text('told')
    },
  },
  test_trigger_prompt_change: {
    description: 'Tells that the prompts have changed.',
    async run({ changed }) {
      await changed('prompts')
      return text('told')
    },
  },
}
