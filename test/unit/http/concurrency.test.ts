import { expect, it } from 'vitest'
import { createConcurrency } from '../../../src/http/concurrency.ts'

it('M-TOOL-06: refuses what one caller runs beyond its limit, and nobody else', () => {
  const enter = createConcurrency(2)
  const leave = enter('one')
  enter('one')
  expect(() => enter('one')).toThrow(/2 requests of this caller/)
  enter('two')
  leave()
  enter('one')
  expect(() => enter('one')).toThrow()
})
