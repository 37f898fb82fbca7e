import { expect, it } from 'vitest'
import type { Verdict } from '../../../src/listen/asking.ts'
import { createSubscriptions } from '../../../src/listen/subscriptions.ts'

const always = () => true

/** An upstream that answers when told to; `asked` lists what it was asked, in order. */
function start() {
  const asked: string[] = []
  const waiting: ((verdict: Verdict) => void)[] = []
  const subscriptions = createSubscriptions({
    ask(method, uri) {
      asked.push(`${method.slice('resources/'.length)} ${uri}`)
      return new Promise((resolve) => void waiting.push(resolve))
    },
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    ...subscriptions,
    asked,
    turn,
    async answer(verdict: Verdict): Promise<void> {
      await turn()
      waiting.shift()?.(verdict)
      await turn()
    },
  }
}

it('X-SUB-01: a resource is subscribed by the first and unsubscribed by the last', async () => {
  const { acquire, release, answer, asked, settled } = start()
  const verdicts = Promise.all([acquire('a', always), acquire('a', always)])
  await answer('yes')
  expect(await verdicts).toEqual(['yes', 'yes'])
  release('a')
  expect(asked).toEqual(['subscribe a'])
  release('a')
  await answer('yes')
  await settled()
  expect(asked).toEqual(['subscribe a', 'unsubscribe a'])
})

it('one who comes while the last one goes is subscribed after that', async () => {
  const { acquire, release, answer, asked } = start()
  void acquire('a', always)
  await answer('yes')
  release('a')
  const again = acquire('a', always)
  await answer('yes')
  await answer('yes')
  expect(await again).toBe('yes')
  expect(asked).toEqual(['subscribe a', 'unsubscribe a', 'subscribe a'])
})

it('what was refused is not unsubscribed; where nobody knows, it is', async () => {
  const { acquire, release, answer, asked } = start()
  void acquire('no', always)
  await answer('no')
  release('no')
  void acquire('unknown', always)
  await answer('unknown')
  release('unknown')
  await answer('yes')
  expect(asked).toEqual(['subscribe no', 'subscribe unknown', 'unsubscribe unknown'])
})

it('eight are asked at a time, and those whose listener left are not asked at all', async () => {
  const { acquire, release, answer, asked, turn, settled } = start()
  const uris = Array.from({ length: 20 }, (_, number) => `a:${number}`)
  const verdicts = uris.map((uri) => acquire(uri, always))
  await turn()
  expect(asked).toHaveLength(8)
  for (const uri of uris.slice(8)) release(uri)
  for (let each = 0; each < 8; each++) await answer('yes')
  await settled()
  expect(asked).toHaveLength(8)
  expect((await Promise.all(verdicts)).slice(8)).toEqual(Array(12).fill('no'))
})

it('a new session is told of everything that is still wanted', async () => {
  const { acquire, release, answer, asked, again } = start()
  void acquire('a', always)
  void acquire('b', always)
  await answer('yes')
  await answer('yes')
  release('a')
  await answer('yes')
  void again()
  await answer('yes')
  expect(asked.slice(3)).toEqual(['subscribe b'])
})
