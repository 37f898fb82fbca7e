import { expect, it } from 'vitest'
import { createDeadline } from '../../../src/exchange/deadline.ts'
import { createManualClock } from '../http/manualClock.ts'

function start(timeoutMs: number, maxTimeoutMs: number) {
  const clock = createManualClock()
  let over = 0
  const deadline = createDeadline(clock, timeoutMs, maxTimeoutMs, () => {
    over += 1
  })
  deadline.run()
  return { clock, deadline, over: () => over }
}

it('L-LIF-04, M-CAN-03: is over once, when the time is', () => {
  const { clock, over } = start(1000, 5000)
  clock.advance(999)
  expect(over()).toBe(0)
  clock.advance(1)
  expect(over()).toBe(1)
  clock.advance(10_000)
  expect(over()).toBe(1)
  expect(clock.pending()).toBe(0)
})

it('cases 15: stands still while a person thinks, however long', () => {
  const { clock, deadline, over } = start(1000, 5000)
  clock.advance(900)
  deadline.pause()
  clock.advance(1_000_000)
  expect(clock.pending()).toBe(0)
  deadline.run()
  clock.advance(999)
  expect(over()).toBe(0)
  clock.advance(1)
  expect(over()).toBe(1)
})

it('progress begins the time anew, up to the maximum', () => {
  const { clock, deadline, over } = start(1000, 2500)
  for (let i = 0; i < 3; i += 1) {
    clock.advance(800)
    deadline.touch()
  }
  expect(over()).toBe(0)
  clock.advance(100)
  expect(over()).toBe(1)
})

it('counts pauses out of the maximum too', () => {
  const { clock, deadline, over } = start(1000, 1500)
  clock.advance(800)
  deadline.pause()
  clock.advance(60_000)
  deadline.run()
  clock.advance(699)
  expect(over()).toBe(0)
  clock.advance(1)
  expect(over()).toBe(1)
})

it('stops for good, leaving no timer', () => {
  const { clock, deadline, over } = start(1000, 5000)
  deadline.stop()
  deadline.touch()
  clock.advance(10_000)
  expect(over()).toBe(0)
  expect(clock.pending()).toBe(0)
})
