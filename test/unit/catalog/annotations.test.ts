import { describe, expect, it } from 'vitest'
import { createAnnotations } from '../../../src/catalog/annotations.ts'
import { type IncomingResponse, readMessages } from '../../../src/mcp/message.ts'
import { paramHeadersOf } from '../../../src/mcp/paramHeaders.ts'
import type { ModernRequest } from '../../../src/mcp/request.ts'
import { createManualClock } from '../http/manualClock.ts'
import { requestBody, scanned, thrownBy } from '../mcp/requests.ts'

interface Given {
  headers?: Record<string, string>
  context?: string
  capabilities?: Record<string, unknown>
}

function request(method: string, params: object, given: Given = {}): ModernRequest {
  const { headers = {}, context = 'one', capabilities = {} } = given
  return {
    ...scanned(requestBody(method, params)),
    id: Buffer.from('1'),
    method,
    envelope: { version: '2026-07-28', capabilities, logLevel: undefined, progressToken: undefined },
    caller: {
      principal: context,
      principalFor: () => Buffer.from(context),
      context,
      anonymous: false,
      credentials: {},
    },
    paramHeaders: paramHeadersOf(headers),
  }
}

const list = (params: object = {}, given?: Given): ModernRequest => request('tools/list', params, given)

/** A call with a value for the parameter that may be annotated. */
const call = (name: string, given?: Given): ModernRequest =>
  request('tools/call', { name, arguments: { region: 'here' } }, given)

function page(tools: Record<string, string | undefined>, nextCursor?: string): IncomingResponse {
  const listed = Object.entries(tools).map(([name, header]) => ({
    name,
    inputSchema: { properties: { region: { type: 'string', ...(header && { 'x-mcp-header': header }) } } },
  }))
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: listed, nextCursor } })
  const [message] = readMessages(Buffer.from(text))
  if (message?.kind !== 'response') throw new Error('no response')
  return message
}

/** The upstream has these pages, for whoever asks for all tools. */
function start(...pages: IncomingResponse[]) {
  const clock = createManualClock()
  let asked = 0
  const annotations = createAnnotations({
    clock,
    async askForTools(by) {
      asked += 1
      await Promise.resolve()
      pages.forEach((each, index) => {
        annotations.learn(
          { ...list(index === 0 ? {} : { cursor: 'c' }), caller: by.caller, envelope: by.envelope },
          each,
        )
      })
    },
  })
  return { ...annotations, clock, asked: () => asked }
}

const HERE = { 'mcp-param-region': 'here' }
const THERE = { 'mcp-param-region': 'there' }
const MISMATCH = { code: -32020, status: 400 }

describe('what is known of tools', () => {
  it('M-HDR-05: a listed annotation holds for the calls after it', () => {
    const { learn, check, asked } = start()
    learn(list(), page({ plain: undefined, mirroring: 'Region' }))
    expect(thrownBy(() => check(call('mirroring')))).toMatchObject(MISMATCH)
    expect(thrownBy(() => check(call('mirroring', { headers: THERE })))).toMatchObject(MISMATCH)
    expect(check(call('mirroring', { headers: HERE }))).toBeUndefined()
    expect(check(call('plain', { headers: THERE }))).toBeUndefined()
    expect(asked()).toBe(0)
  })

  it('costs nothing where no such header came', () => {
    const { check, asked } = start(page({ mirroring: 'Region' }))
    expect(check(call('mirroring'))).toBeUndefined()
    expect(asked()).toBe(0)
  })

  it('asks for the tools once where such a header came for a tool that is not known', async () => {
    const { check, asked } = start(page({ first: undefined }, 'next'), page({ mirroring: 'Region' }))
    const both = [check(call('mirroring', { headers: THERE })), check(call('first', { headers: THERE }))]
    await expect(both[0]).rejects.toMatchObject(MISMATCH)
    await expect(both[1]).resolves.toBeUndefined()
    expect(check(call('mirroring', { headers: HERE }))).toBeUndefined()
    expect(check(call('first', { headers: THERE }))).toBeUndefined()
    expect(check(call('nowhere', { headers: THERE }))).toBeUndefined()
    expect(thrownBy(() => check(call('mirroring')))).toMatchObject(MISMATCH)
    expect(asked()).toBe(1)
  })

  it('asks again where the tools could not be had', async () => {
    const { check, asked } = start()
    await expect(check(call('mirroring', { headers: THERE }))).resolves.toBeUndefined()
    await check(call('mirroring', { headers: THERE }))
    expect(asked()).toBe(2)
  })

  it('lets the call go on where the upstream takes its time to list them', async () => {
    const clock = createManualClock()
    const { check } = createAnnotations({ clock, askForTools: () => new Promise(() => undefined) })
    const checked = check(call('mirroring', { headers: THERE }))
    clock.advance(5_000)
    await expect(checked).resolves.toBeUndefined()
    expect(clock.pending()).toBe(0)
  })

  it('takes a list for whole only from its beginning to its end', () => {
    const { learn, check, asked } = start()
    learn(list({ cursor: 'c' }), page({ last: undefined }))
    expect(check(call('elsewhere', { headers: THERE }))).toBeInstanceOf(Promise)
    learn(list({ cursor: null }), page({ first: undefined }, 'next'))
    learn(list({ cursor: 'next' }), page({ last: undefined }))
    expect(check(call('elsewhere', { headers: THERE }))).toBeUndefined()
    expect(asked()).toBe(1)
  })

  it('forgets what a later list does not annotate, or not name', () => {
    const { learn, check, clock } = start()
    learn(list(), page({ changed: 'Region', gone: 'Region', kept: 'Region' }))
    clock.advance(1)
    learn(list(), page({ changed: undefined, kept: 'Region' }))
    expect(check(call('changed'))).toBeUndefined()
    expect(check(call('gone'))).toBeUndefined()
    expect(thrownBy(() => check(call('kept')))).toMatchObject(MISMATCH)
  })

  it('looks again before it refuses by a list that is not new', async () => {
    const { learn, check, clock, asked } = start(page({ changed: 'Zone', kept: 'Region' }))
    learn(list(), page({ changed: 'Region', kept: 'Region' }))
    clock.advance(6_000)
    await expect(check(call('changed', { headers: { 'mcp-param-zone': 'here' } }))).resolves.toBeUndefined()
    clock.advance(6_000)
    await expect(check(call('kept', { headers: THERE }))).rejects.toMatchObject(MISMATCH)
    expect(thrownBy(() => check(call('kept', { headers: THERE })))).toMatchObject(MISMATCH)
    expect(asked()).toBe(2)
  })

  it('keeps authorization contexts and capabilities apart', () => {
    const { learn, check } = start()
    learn(list({}, { context: 'one' }), page({ tool: 'Region' }))
    learn(list({}, { context: 'two' }), page({ tool: 'Zone' }))
    const one = { headers: HERE, context: 'one' }
    expect(check(call('tool', one))).toBeUndefined()
    expect(thrownBy(() => check(call('tool', { ...one, context: 'two' })))).toMatchObject(MISMATCH)
    const able = { ...one, context: 'two', capabilities: { sampling: {} } }
    expect(check(call('tool', able))).toBeInstanceOf(Promise)
  })

  it('leaves a call without a name to the upstream', () => {
    const { learn, check } = start()
    learn(list(), page({ tool: 'Region' }))
    expect(check(request('tools/call', { arguments: {} }, { headers: HERE }))).toBeUndefined()
  })
})
