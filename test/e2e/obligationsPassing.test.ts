import { describe, expect, it } from 'vitest'
import { startGateway } from '../fixtures/gateway.ts'
import { at, type Json } from '../fixtures/json.ts'
import {
  ABLE,
  answersTo,
  bodyOf,
  type Call,
  rawCall,
  retryOf,
  startCall,
  toolCall,
} from '../fixtures/rawCall.ts'
import { startRawUpstream } from '../fixtures/rawUpstream.ts'
import { relayed } from '../fixtures/relayed.ts'

const DONE = '{"content":[{"type":"text","text":"done"}]}'
const PROMPT: Call = { method: 'prompts/get', params: { name: 'p' }, capabilities: ABLE }
const READ: Call = { method: 'resources/read', params: { uri: 'x:y' }, capabilities: ABLE }
const COMPLETION: Call = {
  method: 'completion/complete',
  params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'v' } },
}

async function start(version?: string) {
  const upstream = await startRawUpstream({ ...(version !== undefined && { version }) })
  return { upstream, ...(await startGateway(upstream.url)) }
}

const BLOCKS = [
  '{"type":"text","text":"t","annotations":{"audience":["user"],"priority":0.50,"lastModified":"2025-01-01T00:00:00Z"},"_meta":{"a/b":1.0}}',
  '{"type":"image","data":"aGk=","mimeType":"image/png"}',
  '{"type":"audio","data":"aGk=","mimeType":"audio/wav"}',
  '{"type":"resource_link","uri":"x:y","name":"n","title":"T","size":12}',
  '{"type":"resource","resource":{"uri":"x:y","text":"t","_meta":{"c/d":[]}}}',
]

describe('what the upstream’s lists and results hold passes byte for byte', () => {
  it.each([
    [
      'X-LST-03: input schemas of any draft',
      '{"name":"t","inputSchema":{"type":"object","required":[],"additionalProperties":false,"$defs":{"a":{"minimum":1.0}}}}',
    ],
    [
      'X-LST-04: output schemas',
      '{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","oneOf":[{}],"properties":{"x":{"const":1E1}}}}',
    ],
    [
      'X-LST-05: schemas that name another dialect, or none',
      '{"name":"t","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"d":{"items":[{},{}]}}}},{"name":"u","inputSchema":{"type":"object","definitions":{}}}',
    ],
    [
      'X-LST-06: titles, icons, annotations and _meta',
      '{"name":"t","title":"T","icons":[{"src":"data:,","sizes":["any"]}],"annotations":{"readOnlyHint":true,"x":1.0},"_meta":{"a/b":-0},"inputSchema":{"type":"object"}}',
    ],
    [
      'M-TOOL-04: names that clients must encode',
      '{"name":"größe/2 \\u00e9","inputSchema":{"type":"object"}},{"name":"","inputSchema":{"type":"object"}}',
    ],
  ])('%s', async (_name, tools) => {
    const { upstream, url } = await start()
    const { answer } = await relayed(upstream, url, { method: 'tools/list' }, `{"tools":[${tools}]}`)
    expect(answer.bytes.toString()).toContain(`"tools":[${tools}]`)
  })

  it.each([
    [
      'resources/list',
      'resources',
      '{"uri":"x:y","name":"n","title":"T","size":9007199254740993,"annotations":{"audience":["assistant"],"priority":1.0},"icons":[],"_meta":{}}',
    ],
    [
      'resources/templates/list',
      'resourceTemplates',
      '{"uriTemplate":"x:{y}","name":"n","annotations":{"priority":0},"_meta":{"a/b":null}}',
    ],
    [
      'prompts/list',
      'prompts',
      '{"name":"p","title":"T","arguments":[{"name":"a","title":"A","required":true}],"icons":[{"src":"https://x.example/i"}]}',
    ],
  ])('X-LST-06, X-LST-07: the members of %s, of 2024-11-05 too', async (method, member, entry) => {
    for (const version of ['2025-11-25', '2024-11-05']) {
      const { upstream, url } = await start(version)
      const { answer } = await relayed(upstream, url, { method }, `{"${member}":[${entry}]}`)
      expect(answer.bytes.toString()).toContain(`"${member}":[${entry}]`)
    }
  })

  it('X-RES-02, M-TOOL-03: structured content of any value, whatever the output schema said', async () => {
    const { upstream, url } = await start()
    const schema = '{"type":"object","required":["x"],"properties":{"x":{"type":"number"}}}'
    const tools = `{"tools":[{"name":"any","inputSchema":{"type":"object"},"outputSchema":${schema}}]}`
    await relayed(upstream, url, { method: 'tools/list' }, tools)
    for (const value of ['{"x":"no number"}', '[1.0]', '"text"', 'null', '7']) {
      const result = `{"content":[],"structuredContent":${value}}`
      const { answer } = await relayed(upstream, url, toolCall('any'), result)
      expect(answer.bytes.toString()).toContain(`"structuredContent":${value}`)
    }
  })

  it('X-RES-03, X-RES-04: every kind of content, in results and in prompts', async () => {
    const { upstream, url } = await start()
    const content = `"content":[${BLOCKS.join(',')},{"type":"vendor","x":1.0}]`
    const tool = await relayed(upstream, url, toolCall('any'), `{${content}}`)
    expect(tool.answer.bytes.toString()).toContain(content)
    const messages = `"messages":[${BLOCKS.map((block) => `{"role":"user","content":${block}}`).join(',')}]`
    const prompt = await relayed(upstream, url, PROMPT, `{${messages}}`)
    expect(prompt.answer.bytes.toString()).toContain(messages)
  })

  it('X-RES-07, M-CMP-01: completions, also more of them than there may be', async () => {
    const { upstream, url } = await start()
    const values = JSON.stringify(Array.from({ length: 120 }, (_, i) => `v${i}`))
    const completion = `"completion":{"values":${values},"total":1000.0,"hasMore":true}`
    const { answer } = await relayed(upstream, url, COMPLETION, `{${completion}}`)
    expect(answer.bytes.toString()).toContain(completion)
  })

  it('X-RES-08: members that are any object, down in capabilities and in questions', async () => {
    const capabilities = {
      tools: {},
      logging: { x: 1 },
      completions: { y: [] },
      experimental: { 'a/b': { z: {} } },
    }
    const upstream = await startRawUpstream({ capabilities })
    const { url } = await startGateway(upstream.url)
    const discovered = await rawCall(url, { method: 'server/discover' })
    expect(discovered.result?.capabilities).toEqual(capabilities)

    const first = startCall(url, toolCall('any'))
    const request = await upstream.method('tools/call')
    const params = '{"maxTokens":5,"messages":[],"metadata":{"deep":{"n":1.0,"a":[null]}}}'
    request.say(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":${params}}`)
    const round = await first.answer
    expect(round.bytes.toString()).toContain(params)
    const retry = startCall(url, retryOf(toolCall('any'), round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    await retry.answer
  })

  it('M-SAM-02: messages of a sampling request are neither checked nor put in order', async () => {
    const { upstream, url } = await start()
    const call = toolCall('any', {}, { capabilities: { sampling: { tools: {} } } })
    const first = startCall(url, call)
    const request = await upstream.method('tools/call')
    const messages =
      '"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"b","content":[]},{"type":"text","text":"t"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{"x":1.0}}]}]'
    request.say(
      `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"maxTokens":5,${messages},"tools":[{"name":"n","inputSchema":{"type":"object"}}]}}`,
    )
    const round = await first.answer
    expect(round.bytes.toString()).toContain(messages)
    const retry = startCall(url, retryOf(call, round, answersTo(round)))
    await upstream.answer('q')
    request.result(DONE)
    await retry.answer
  })
})

describe('what is the upstream’s to judge', () => {
  const failure = { code: -32602, message: 'no such thing', data: { why: ['because'] } }

  it.each<[string, Call]>([
    ['M-TOOL-05: an unknown tool', toolCall('none')],
    ['M-PRM-01: a bad prompt', PROMPT],
    ['M-PAG-01: a bad cursor', { method: 'tools/list', params: { cursor: 'stale' } }],
    ['M-CMP-01: a bad argument', COMPLETION],
  ])('%s: its error passes as it is', async (_name, call) => {
    const { upstream, url } = await start()
    const running = startCall(url, call)
    ;(await upstream.method(call.method)).error(failure)
    const answer = await running.answer
    expect([answer.status, answer.error]).toEqual([200, failure])
  })

  it('M-TOOL-05: a tool that failed is a result, not an error', async () => {
    const { upstream, url } = await start()
    const failed = '"content":[{"type":"text","text":"it broke"}],"isError":true'
    const { answer } = await relayed(upstream, url, toolCall('any'), `{${failed}}`)
    expect(answer.bytes.toString()).toContain(failed)
    expect(answer.status).toBe(200)
  })

  it('M-RES-02: a resource without contents passes, nobody knows why it has none', async () => {
    const { upstream, url } = await start()
    const { answer } = await relayed(upstream, url, READ, { contents: [] })
    expect(answer.result).toMatchObject({ resultType: 'complete', contents: [] })
  })

  it('M-RES-03: a URI is not resolved, whatever it looks like', async () => {
    const { upstream, url } = await start()
    for (const uri of ['file:///a/../../etc/passwd', 'HTTP://Example.com:80/%7e/./x', '../x', 'x y', '']) {
      const { request } = await relayed(upstream, url, { ...READ, params: { uri } }, { contents: [] })
      expect(at(request.message, 'params', 'uri')).toBe(uri)
    }
  })

  it('M-TOOL-04: a tool of any name is called by it', async () => {
    const { upstream, url } = await start()
    for (const name of ['größe/2', 'a b', 'x'.repeat(200)]) {
      const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`
      const call = toolCall(name, {}, { headers: { 'mcp-name': encoded } })
      const { request } = await relayed(upstream, url, call, DONE)
      expect(at(request.message, 'params', 'name')).toBe(name)
    }
  })
})

it('M-BASE-19, M-BASE-20, cases 50: trace context and unknown reserved keys pass both ways, valid or not', async () => {
  const { upstream, url } = await start()
  const meta: Json = {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'vendor=1,other=not valid at all',
    baggage: 'a=b;c',
    'io.modelcontextprotocol/unheard-of': { x: 1 },
    'com.mcp.example/y': null,
  }
  const call = toolCall('any')
  const body = bodyOf(call)
  Object.assign(Object(at(body, 'params', '_meta')), meta)
  const { request, answer } = await relayed(
    upstream,
    url,
    { ...call, body: JSON.stringify(body) },
    { content: [], _meta: { ...meta, traceparent: 'not valid' } },
  )
  expect(at(request.message, 'params', '_meta')).toEqual(meta)
  expect(answer.result?._meta).toMatchObject({ ...meta, traceparent: 'not valid' })
})
