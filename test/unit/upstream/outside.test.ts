import { describe, expect, it } from 'vitest'
import { type IncomingRequest, readMessages } from '../../../src/mcp/message.ts'
import type { Holder } from '../../../src/upstream/call.ts'
import { createOutside } from '../../../src/upstream/outside.ts'
import { createManualClock } from '../http/manualClock.ts'

function request(id: string | number, method = 'elicitation/create'): IncomingRequest {
  const [message] = readMessages(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method })))
  if (message?.kind !== 'request') throw new Error('no request')
  return message
}

function start() {
  const clock = createManualClock()
  let found = 0
  const refused: string[] = []
  const outside = createOutside(clock, () => {
    found += 1
  })
  const ask = (asked: IncomingRequest): void => outside.ask(asked, (id) => refused.push(id.toString()))
  return { clock, outside, ask, refused, found: () => found }
}

function holder(): Holder & { readonly taken: string[] } {
  const taken: string[] = []
  const nothing = (): void => undefined
  return {
    taken,
    question: nothing,
    withdrawn: (id) => void taken.push(id),
    notification: nothing,
    lost: nothing,
  }
}

const LONG_ID = 'd5b9a9b2-6a8e-4c1c-9f6f-3c1d8f0a7b11'

describe('X-SRQ-11, design §4.8: a server request outside of any lease', () => {
  it('is refused after 100 ms, and nothing is left', () => {
    const { clock, ask, refused } = start()
    ask(request(1))
    clock.advance(99)
    expect(refused).toEqual([])
    clock.advance(1)
    expect(refused).toEqual(['1'])
    expect(clock.pending()).toBe(0)
  })

  it.each([
    ['before', true],
    ['after', false],
  ])(
    'is not refused if a leased session got the same %s it: the upstream asks everybody',
    (_name, leasedFirst) => {
      const { clock, outside, ask, refused, found } = start()
      const session = holder()
      if (leasedFirst) expect(outside.seen(request(1), session)).toBe(true)
      ask(request(1))
      clock.advance(50)
      if (!leasedFirst) expect(outside.seen(request(1), session)).toBe(true)
      clock.advance(100)
      expect(refused).toEqual([])
      expect([outside.broadcasting(), found()]).toEqual([true, 1])
    },
  )

  it('is refused if what the leased session got differs in id or content', () => {
    const { clock, outside, ask, refused } = start()
    outside.seen(request(2), holder())
    outside.seen(request(1, 'roots/list'), holder())
    ask(request(1))
    clock.advance(100)
    expect(refused).toEqual(['1'])
    expect(outside.broadcasting()).toBe(false)
  })

  it('a twin on two leased sessions cannot be attributed', () => {
    const { outside, found } = start()
    const first = holder()
    expect(outside.seen(request(LONG_ID), first)).toBe(true)
    expect(outside.seen(request(LONG_ID), holder())).toBe(false)
    expect(found()).toBe(1)
    // Nor does the one keep it that got the first copy.
    expect(first.taken).toEqual([JSON.stringify(LONG_ID)])
  })

  it('equal counters on two sessions prove nothing, nor a repetition on one', () => {
    const { clock, outside, found } = start()
    const session = holder()
    expect(outside.seen(request(0), holder())).toBe(true)
    expect(outside.seen(request(0), holder())).toBe(true)
    expect(outside.seen(request(LONG_ID), session)).toBe(true)
    expect(outside.seen(request(LONG_ID), session)).toBe(true)
    clock.advance(1_000)
    expect(outside.seen(request(LONG_ID), holder())).toBe(true)
    expect(found()).toBe(0)
    outside.close()
    expect(clock.pending()).toBe(0)
  })
})
