import { describe, expect, it } from 'vitest'
import { type DiscoverOptions, discoverResult, serverInfoOf } from '../../../src/mcp/discoverResult.ts'

const options: DiscoverOptions = {
  streams: true,
  supportedVersions: ['2026-07-28'],
  hints: { ttlMs: 5, cacheScope: 'public' },
}
const discover = (result: string, changed: Partial<DiscoverOptions> = {}) =>
  discoverResult(Buffer.from(result), { ...options, ...changed }).toString()
const discovered = (result: object, changed: Partial<DiscoverOptions> = {}) =>
  JSON.parse(discover(JSON.stringify(result), changed))
const serverInfo = { name: 'n', version: '1' }

describe('discoverResult', () => {
  it('X-CAP-01: maps the members it knows and passes the others byte for byte', () => {
    const text =
      '{"protocolVersion":"2025-11-25", "x" : 1.0,"capabilities":{"tools":{"listChanged":true},"y":[ 2E0 ]},' +
      '"serverInfo":{"name":"n","version":"1","icons":[]},"instructions":"do \\u00e9","_meta":{"com.example/z":9007199254740993}}'
    expect(discover(text)).toBe(
      '{ "x" : 1.0,"capabilities":{"tools":{"listChanged":true},"y":[ 2E0 ]},"instructions":"do \\u00e9",' +
        '"_meta":{"com.example/z":9007199254740993,"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1","icons":[]}},' +
        '"supportedVersions":["2026-07-28"],"resultType":"complete","ttlMs":5,"cacheScope":"public"}',
    )
  })

  it('M-BASE-05: takes nothing that looks like a round from a legacy server', () => {
    const result = discovered({
      resultType: 'input_required',
      inputRequests: {},
      requestState: 's',
      capabilities: {},
      serverInfo,
    })
    expect(result).toMatchObject({ resultType: 'complete' })
    expect(Object.keys(result)).not.toContain('inputRequests')
    expect(Object.keys(result)).not.toContain('requestState')
  })

  it('X-CAP-02: leaves out an identity without name or version', () => {
    for (const broken of [{ name: 'n' }, { version: '1' }, { name: 1, version: '1' }, 'x', undefined]) {
      expect(discovered({ capabilities: {}, serverInfo: broken })).not.toHaveProperty('_meta')
      expect(discovered({ capabilities: {}, serverInfo: broken })).not.toHaveProperty('serverInfo')
    }
    expect(serverInfoOf(Buffer.from(JSON.stringify({ serverInfo })))?.toString()).toBe(
      '{"name":"n","version":"1"}',
    )
    expect(serverInfoOf(Buffer.from('{"serverInfo":{"name":"n"}}'))).toBeUndefined()
  })

  it('X-CAP-03, T-14: no tasks capability; the extension only where it can be served', () => {
    const capabilities = { tasks: { list: {} }, tools: {} }
    expect(discovered({ capabilities }).capabilities).toEqual({ tools: {} })
    const extensions = { 'io.modelcontextprotocol/tasks': {} }
    expect(discovered({ capabilities }, { tasks: true }).capabilities).toEqual({ tools: {}, extensions })
  })

  it('X-CAP-04: completions as declared, or as found out', () => {
    expect(discovered({ capabilities: { completions: {} } }).capabilities).toEqual({ completions: {} })
    expect(discovered({ capabilities: {} }).capabilities).toEqual({})
    expect(discovered({ capabilities: {} }, { completions: true }).capabilities).toEqual({ completions: {} })
    expect(
      discovered({ capabilities: { completions: { x: 1 } } }, { completions: true }).capabilities,
    ).toEqual({ completions: { x: 1 } })
    expect(discovered({ capabilities: { completions: {} } }, { completions: false }).capabilities).toEqual({})
  })

  it('X-CAP-05: promises changes only where they can arrive', () => {
    const capabilities = {
      tools: { listChanged: true, x: 1 },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: false },
    }
    expect(discovered({ capabilities }).capabilities).toEqual(capabilities)
    expect(discovered({ capabilities }, { streams: false }).capabilities).toEqual({
      tools: { x: 1 },
      prompts: {},
      resources: {},
    })
  })

  it('X-CAP-06: logging, experimental and unknown capabilities pass', () => {
    const capabilities = { logging: {}, experimental: { a: { b: 1 } }, 'com.example': true }
    expect(discovered({ capabilities }, { streams: false }).capabilities).toEqual(capabilities)
  })

  it('X-CAP-07: extensions by the allow-list', () => {
    const ui = '{"io.modelcontextprotocol/ui":{"é": 1.0}}'
    const text =
      '{"capabilities":{"extensions":{"com.example/x":{},"io.modelcontextprotocol/ui":{"é": 1.0},"io.modelcontextprotocol/tasks":{}}}}'
    expect(discover(text)).toContain(`"capabilities":{"extensions":${ui}}`)
    expect(discovered({ capabilities: { extensions: { 'com.example/x': {} } } }).capabilities).toEqual({})
  })

  it('refuses a member that occurs twice', () => {
    const twice = expect.objectContaining({ reason: 'upstream_protocol' })
    expect(() => discover('{"capabilities":{"tasks":{},"tasks":1}}')).toThrowError(twice)
  })

  it('has capabilities even if the upstream named none', () => {
    expect(discovered({}).capabilities).toEqual({})
    expect(discovered({ capabilities: null }, { tasks: true, completions: true }).capabilities).toEqual({
      completions: {},
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    })
  })
})
