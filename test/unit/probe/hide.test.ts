import { expect, it } from 'vitest'
import { createHide } from '../../../src/probe/hide.ts'

const url = new URL('http://x.test/mcp?key=in-the-query&page=1')
const basic = Buffer.from('ada:lovelace').toString('base64')

it('hides what was sent wherever it is repeated, and leaves words that are no secrets', () => {
  const hide = createHide({ authorization: 'Bearer abc.def.ghi', 'x-key': 'k-123456', 'x-team': 'red' }, url)
  expect(hide.text('Bearer abc.def.ghi')).toBe('[hidden]')
  expect(hide.text('token abc.def.ghi is bad')).toBe('token [hidden] is bad')
  expect(hide.text('Bearer realm="red", page 1')).toBe('Bearer realm="red", page 1')
  expect(hide.text('in-the-query')).toBe('[hidden]')
  expect(hide.value({ a: ['k-123456', 1, null], 'k-123456': true })).toEqual({
    a: ['[hidden]', 1, null],
    '[hidden]': true,
  })
})

it('hides what a basic credential says in the clear', () => {
  const hide = createHide({ authorization: `Basic ${basic}` }, url)
  expect(hide.text(`no lovelace, no ${basic}`)).toBe('no [hidden], no [hidden]')
})
