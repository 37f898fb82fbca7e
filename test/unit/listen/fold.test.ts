import { expect, it } from 'vitest'
import { createFold, keyOf } from '../../../src/listen/fold.ts'
import { missedList, missedUpdate } from '../../../src/mcp/change.ts'
import { createManualClock } from '../http/manualClock.ts'

function start() {
  const clock = createManualClock()
  const told: string[] = []
  return { clock, told, fold: createFold(clock, (change) => void told.push(keyOf(change))) }
}

it('M-SUB-07: the same change is told once in 25 ms, and one that comes later again', () => {
  const { clock, told, fold } = start()
  fold.add(missedList('tools'))
  fold.add(missedUpdate('a:1'))
  clock.advance(24)
  fold.add(missedList('tools'))
  expect(told).toEqual([])
  clock.advance(1)
  expect(told).toEqual(['tools', 'resource a:1'])
  fold.add(missedList('tools'))
  clock.advance(25)
  expect(told).toEqual(['tools', 'resource a:1', 'tools'])
  expect(clock.pending()).toBe(0)
})

it('what comes in masses is told before its time, and none is lost', () => {
  const { clock, told, fold } = start()
  const all = Array.from({ length: 3_000 }, (_, number) => missedUpdate(`a:${number}`))
  for (const change of all) fold.add(change)
  expect(clock.pending()).toBe(1_024)
  clock.advance(25)
  expect(told).toEqual(all.map(keyOf))
})

it('stopped, it tells nothing more', () => {
  const { clock, told, fold } = start()
  fold.add(missedList('tools'))
  fold.stop()
  clock.advance(100)
  expect([told, clock.pending()]).toEqual([[], 0])
})
