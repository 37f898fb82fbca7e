import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admits, membersOf } from '../../../src/listen/filter.ts'
import { missedList, missedUpdate } from '../../../src/mcp/change.ts'

const wants = (...uris: string[]) => ({ lists: new Set<never>(), uris: new Set(uris) })

describe('what a filter admits', () => {
  it('M-SUB-03: lists by their name alone', () => {
    const filter = { lists: new Set(['tools'] as const), uris: new Set<string>() }
    expect(admits(filter, missedList('tools'))).toBe(true)
    expect(admits(filter, missedList('prompts'))).toBe(false)
    expect(admits(filter, missedUpdate('tools'))).toBe(false)
  })

  it.each([
    ['a:b', 'a:b', true],
    ['a:b', 'a:b/c', true],
    ['a:b', 'a:b?c', true],
    ['a:b', 'a:b#c', true],
    ['a:b', 'a:bc', false],
    ['a:b', 'a:', false],
    ['a:b/c', 'a:b', false],
    ['a:b/', 'a:b/c', true],
    ['a:b?', 'a:b?c=d', true],
    ['a:b/', 'a:b', false],
    ['', 'a:b', false],
    ['', '/a', false],
  ])('M-SUB-08: subscribed to %j, an update of %j: %j', (uri, changed, admitted) => {
    expect(admits(wants(uri), missedUpdate(changed))).toBe(admitted)
  })

  it('M-SUB-08: whatever lies below a subscribed URI, and nothing that does not begin with it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.constantFrom('/', '?', '#'),
        fc.string(),
        (uri, boundary, rest) => {
          expect(admits(wants(uri), missedUpdate(uri))).toBe(true)
          expect(admits(wants(uri), missedUpdate(uri + boundary + rest))).toBe(true)
          expect(admits(wants(`${uri}x`), missedUpdate(uri))).toBe(false)
        },
      ),
    )
  })
})

it('M-SUB-01: what is not honoured is not named', () => {
  expect(membersOf({ lists: new Set(['resources', 'tools']), uris: new Set(['b', 'a']) })).toEqual({
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['b', 'a'],
  })
  expect(membersOf(wants())).toEqual({})
})
