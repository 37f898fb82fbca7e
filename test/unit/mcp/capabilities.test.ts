import { describe, expect, it } from 'vitest'
import {
  allCapabilities,
  canAsk,
  capabilityKey,
  initializeCapabilities,
  minimalCapabilities,
  reduce,
} from '../../../src/mcp/capabilities.ts'

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const declared = {
  roots: { listChanged: true },
  sampling: { tools: {}, context: {}, x: 1 },
  elicitation: { form: {}, url: {} },
  experimental: { a: {} },
  tasks: { list: {} },
  extensions: { 'io.modelcontextprotocol/ui': { b: 1, a: [{ d: 1, c: 2 }] }, 'com.example/x': {} },
}

describe('reduce', () => {
  it.each([
    [{}, { form: false, url: false }],
    [{ elicitation: {} }, { form: true, url: false }],
    [{ elicitation: { form: {} } }, { form: true, url: false }],
    [{ elicitation: { url: {} } }, { form: false, url: true }],
    [{ elicitation: { form: {}, url: {} } }, { form: true, url: true }],
    [{ elicitation: true }, { form: false, url: false }],
  ])('M-ELI-01: %j', (capabilities, expected) => {
    expect(reduce(capabilities)).toMatchObject(expected)
  })

  it('M-VER-04, X-CAP-11, X-CAP-13: keeps six booleans and the extensions of the allow-list', () => {
    expect(reduce(declared)).toEqual({
      ...allCapabilities,
      extensions: '{"io.modelcontextprotocol/ui":{"a":[{"c":2,"d":1}],"b":1}}',
    })
    expect(reduce(JSON.parse('{"__proto__":{"roots":{}},"extensions":{"tasks":{}}}'))).toEqual(reduce({}))
  })

  it('gives equal keys to equal declarations, whatever their order', () => {
    const other = {
      extensions: { 'io.modelcontextprotocol/ui': { a: [{ c: 2, d: 1 }], b: 1 } },
      elicitation: { url: {}, form: {} },
      sampling: { context: {}, tools: {} },
      roots: {},
    }
    expect(capabilityKey(reduce(other))).toBe(capabilityKey(reduce(declared)))
    expect(capabilityKey(reduce({ roots: {} }))).not.toBe(capabilityKey(reduce({ sampling: {} })))
  })

  it('can be asked with any of the three', () => {
    expect(
      [{ elicitation: { url: {} } }, { sampling: {} }, { roots: {} }].map((c) => canAsk(reduce(c))),
    ).toEqual([true, true, true])
    expect(canAsk(reduce({ extensions: declared.extensions, experimental: {} }))).toBe(false)
  })
})

describe('initializeCapabilities', () => {
  const all = reduce(declared)
  const per = (capabilities: object) =>
    revisions.map((revision) => initializeCapabilities(reduce({ ...capabilities }), revision))

  it('X-CAP-08: roots without listChanged', () => {
    expect(per({ roots: { listChanged: true } })).toEqual(revisions.map(() => ({ roots: {} })))
  })

  it('X-CAP-09: sampling with its members from 2025-11-25 on', () => {
    const { sampling } = declared
    const full = { sampling: { context: {}, tools: {} } }
    expect(per({ sampling })).toEqual([{ sampling: {} }, { sampling: {} }, { sampling: {} }, full])
    expect(per({ sampling: {} })[3]).toEqual({ sampling: {} })
  })

  it('X-CAP-10: elicitation by revision', () => {
    expect(per({ elicitation: {} })).toEqual([{}, {}, { elicitation: {} }, { elicitation: {} }])
    const both = { elicitation: { form: {}, url: {} } }
    expect(per(both)).toEqual([{}, {}, { elicitation: {} }, both])
    const url = { elicitation: { url: {} } }
    expect(per(url)).toEqual([{}, {}, {}, url])
  })

  it('X-CAP-11, X-CAP-12, X-CAP-13: the allow-list, neither experimental nor tasks', () => {
    for (const revision of revisions) {
      const members = initializeCapabilities(all, revision)
      expect(members.extensions).toEqual({ 'io.modelcontextprotocol/ui': { a: [{ c: 2, d: 1 }], b: 1 } })
      expect(Object.keys(members)).not.toContain('experimental')
      expect(Object.keys(members)).not.toContain('tasks')
    }
  })

  it('X-CAP-17: the forms of 2025-11-25 for an upstream not yet known', () => {
    expect(initializeCapabilities(all)).toEqual(initializeCapabilities(all, '2025-11-25'))
  })

  it('X-CAP-12: the second attempt has the three as declared and nothing in them', () => {
    expect(minimalCapabilities(all)).toEqual({ elicitation: {}, sampling: {}, roots: {} })
    expect(minimalCapabilities(reduce({ sampling: {} }))).toEqual({ sampling: {} })
  })
})
