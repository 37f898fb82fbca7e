import { expect, it } from 'vitest'
import { initialState } from '../../../src/exchange/machine.ts'
import type { Outcome } from '../../../src/exchange/outcome.ts'
import { createOutcomes, type Remembered } from '../../../src/exchange/outcomes.ts'

const MIB = 1024 * 1024

function remembered(bytes: number, principal = 'p'): Remembered {
  const final: Outcome = { kind: 'message', head: Buffer.alloc(bytes), tail: Buffer.alloc(0), status: 200 }
  return { state: { ...initialState(), phase: 'ended', final }, keys: ['a'], principal }
}

it('keeps an outcome for a minute', () => {
  let now = 1
  const outcomes = createOutcomes(() => now)
  outcomes.keep('x', remembered(10))
  now += 59_000
  expect(outcomes.get('x')?.keys).toEqual(['a'])
  now += 2_000
  expect(outcomes.get('x')).toBeUndefined()
})

it('does not keep one of more than 1 MiB', () => {
  const outcomes = createOutcomes(() => 1)
  outcomes.keep('x', remembered(MIB))
  expect(outcomes.get('x')).toBeUndefined()
})

it('keeps 8 MiB of one principal, whose excess costs nobody else', () => {
  const outcomes = createOutcomes(() => 1)
  outcomes.keep('other', remembered(10, 'other'))
  for (let i = 0; i < 12; i += 1) outcomes.keep(`x${i}`, remembered(MIB - 1024))
  const kept = Array.from({ length: 12 }, (_, i) => outcomes.get(`x${i}`)).filter(
    (each) => each !== undefined,
  )
  expect(kept).toHaveLength(8)
  expect(outcomes.get('other')).toBeDefined()
})

it('gives the place of what expired to the next', () => {
  let now = 1
  const outcomes = createOutcomes(() => now)
  for (let i = 0; i < 8; i += 1) outcomes.keep(`x${i}`, remembered(MIB - 1024))
  now += 61_000
  outcomes.keep('late', remembered(MIB - 1024))
  expect(outcomes.get('late')).toBeDefined()
})
