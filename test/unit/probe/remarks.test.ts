import { describe, expect, it } from 'vitest'
import { type Facts, noFacts } from '../../../src/probe/facts.ts'
import { problemsOf, remarksOn } from '../../../src/probe/remarks.ts'

const good: Partial<Facts> = {
  usable: true,
  era: 'legacy',
  discover: 'legacy',
  transport: 'streamable-http',
  revision: '2025-11-25',
  sessions: true,
  stream: true,
  answers: 'event-stream',
}

const facts = (more: Partial<Facts>): Facts => ({ ...noFacts('http://x.test/mcp', [], []), ...more })
const remarks = (more: Partial<Facts>): string[] => remarksOn(facts({ ...good, ...more }))

describe('remarks', () => {
  it('has none on a server with which everything works', () => expect(remarks({})).toEqual([]))

  it.each<[string, Partial<Facts>]>([
    ['keeps no sessions, so it cannot hear an answer', { sessions: false }],
    ['what it asks on the GET stream arrives', { answers: 'json' }],
    ['has no GET stream. If it answers calls so too, it can ask nothing', { answers: 'json', stream: false }],
    ['no stream for server messages', { stream: false }],
    ['Revision 2024-11-05 has no elicitation', { revision: '2024-11-05' }],
    ['Revision 2025-03-26 has no elicitation', { revision: '2025-03-26' }],
    ['elicitation by forms, not by URL', { revision: '2025-06-18' }],
    ['waits 2 s', { discover: 'silent' }],
    ['tells no era', { discover: 'nothing' }],
    ['one call that can be asked at a time', { secondSessionFailure: 'full' }],
    ['to all sessions', { broadcasts: true }],
    ['declares tasks', { capabilities: { declared: { tasks: {} }, seen: {} } }],
    ['was not asked', { era: 'modern', discover: 'modern', revision: '2026-07-28', stream: null }],
  ])('tells: %s', (said, more) => {
    expect(remarks(more).filter((each) => each.includes(said))).toHaveLength(1)
  })

  it('leaves the reasons to the problems where nothing works', () => {
    expect(remarks({ usable: false, sessions: false })).toEqual([])
    expect(problemsOf(facts({ usable: false, refused: { status: 403, challenge: null } }))).toEqual([
      "It answers 403 without a challenge. Credentials are given with --header 'name: value'.",
    ])
  })
})
