import { expect, it } from 'vitest'
import type { Said } from '../../../src/upstream/askEra.ts'
import type { Headers } from '../../../src/upstream/channel.ts'
import { createEra, type Verdict } from '../../../src/upstream/era.ts'
import { createManualClock } from '../http/manualClock.ts'

const MINUTE_MS = 60_000
const A = { authorization: 'Bearer a' }
const B = { authorization: 'Bearer b' }

/** An era whose questions the test answers. */
function start(pinned: Verdict | 'auto' = 'auto') {
  const clock = createManualClock()
  const asked: { by: Headers; says: (said: Said) => Promise<void> }[] = []
  const changes: Verdict[] = []
  const era = createEra({
    pinned,
    clock,
    onChange: (verdict) => void changes.push(verdict),
    ask: (by) =>
      new Promise((resolve) => {
        const says = async (said: Said): Promise<void> => {
          resolve(said)
          await new Promise((done) => setImmediate(done))
        }
        asked.push({ by, says })
      }),
  })
  /** The upstream says this to the next question, which is asked by a request that waits for it. */
  async function learn(said: Said): Promise<Verdict> {
    const before = asked.length
    const verdict = era.of(() => A)
    expect(asked).toHaveLength(before + 1)
    await asked.at(-1)?.says(said)
    return await verdict
  }
  return { clock, asked, changes, era, learn }
}

it.each<Verdict>(['legacy', 'modern'])(
  'M-VER-07: %s is remembered, and asked anew after five minutes without delaying',
  async (first) => {
    const { clock, asked, changes, era, learn } = start()
    expect(await learn(first)).toBe(first)
    clock.advance(5 * MINUTE_MS - 1)
    expect(era.of(() => A)).toBe(first)
    expect(asked).toHaveLength(1)
    clock.advance(1)
    expect([era.of(() => B), era.of(() => A)]).toEqual([first, first])
    expect(asked).toHaveLength(2)
    expect(asked[1]?.by).toEqual(B)
    const second = first === 'legacy' ? 'modern' : 'legacy'
    await asked[1]?.says(second)
    expect(era.of(() => A)).toBe(second)
    expect(changes).toEqual(first === 'legacy' ? ['modern'] : ['modern', 'legacy'])
  },
)

it('those who come while it is asked wait for the same answer', async () => {
  const { asked, era } = start()
  const both = [era.of(() => A), era.of(() => B)]
  expect(asked).toHaveLength(1)
  await asked[0]?.says('modern')
  expect(await Promise.all(both)).toEqual(['modern', 'modern'])
})

it('a refusal of credentials says nothing of others', async () => {
  const { asked, era } = start()
  const [refused, first, second] = [era.of(() => A), era.of(() => B), era.of(() => B)]
  await asked[0]?.says('refused')
  expect(await refused).toBe('legacy')
  expect(asked.map(({ by }) => by)).toEqual([A, B])
  await asked[1]?.says('modern')
  expect(await Promise.all([first, second])).toEqual(['modern', 'modern'])
})

it.each<Said>(['refused', 'nothing'])(
  'after "%s" it is legacy, and the next request asks again',
  async (said) => {
    const { era, asked, learn } = start()
    expect(await learn(said)).toBe('legacy')
    expect(await learn('modern')).toBe('modern')
    era.doubt()
    expect(await learn(said)).toBe('modern')
    expect(asked).toHaveLength(3)
  },
)

it('one that is silent costs its time once: then it is asked now and then, while requests go on', async () => {
  const { clock, era, asked, learn } = start()
  expect(await learn('silent')).toBe('legacy')
  expect(era.of(() => A)).toBe('legacy')
  era.doubt()
  expect(era.of(() => A)).toBe('legacy')
  expect(asked).toHaveLength(2)
  await asked[1]?.says('silent')
  clock.advance(MINUTE_MS / 2)
  expect(era.of(() => A)).toBe('legacy')
  await asked[2]?.says('modern')
  expect(era.of(() => A)).toBe('modern')
})

it('a question in between that tells nothing changes nothing, and is not repeated at once', async () => {
  const { clock, era, asked, learn } = start()
  await learn('modern')
  clock.advance(5 * MINUTE_MS)
  era.of(() => A)
  await asked[1]?.says('nothing')
  expect(era.of(() => A)).toBe('modern')
  expect(asked).toHaveLength(2)
  clock.advance(MINUTE_MS / 2)
  expect(era.of(() => A)).toBe('modern')
  expect(asked).toHaveLength(3)
})

it('an answer that does not fit has it asked anew, but not at each of them', async () => {
  const { clock, era, asked, learn } = start()
  await learn('modern')
  const confirmed = era.again(() => A)
  await asked[1]?.says('modern')
  expect([await confirmed, await era.again(() => A)]).toEqual(['modern', 'modern'])
  expect(asked).toHaveLength(2)
  clock.advance(5_000)
  const denied = era.again(() => A)
  await asked[2]?.says('legacy')
  expect([await denied, era.of(() => A)]).toEqual(['legacy', 'legacy'])
})

it('once it was lost, the next request asks first', async () => {
  const { era, learn } = start()
  await learn('legacy')
  era.doubt()
  expect(await learn('modern')).toBe('modern')
})

it.each<Verdict>(['legacy', 'modern'])('pinned to %s it is never asked', async (pinned) => {
  const { era, asked } = start(pinned)
  era.doubt()
  expect(era.of(() => A)).toBe(pinned)
  expect(await era.again(() => A)).toBe(pinned)
  expect(asked).toHaveLength(0)
})
