import { expect, it } from 'vitest'
import { createLegs } from '../../../src/exchange/legs.ts'
import type { Answer, ModernRequest } from '../../../src/mcp/request.ts'
import { notification } from '../mcp/messages.ts'
import { scanned } from '../mcp/requests.ts'

function leg(progressToken?: string, logLevel?: string) {
  const heard: { method: string; params: Record<string, unknown> }[] = []
  const answer: Answer = {
    open: true,
    streaming: false,
    takesStream: true,
    notify: (message) => void heard.push(JSON.parse(message.toString())),
    end: () => undefined,
    fail: () => undefined,
    onLeave: () => undefined,
  }
  const caller = {
    principal: 'p',
    principalFor: () => Buffer.alloc(0),
    context: 'c',
    anonymous: true,
    credentials: {},
  }
  const token = progressToken === undefined ? undefined : Buffer.from(progressToken)
  const envelope = { version: '2026-07-28', capabilities: {}, logLevel, progressToken: token }
  const request: ModernRequest = {
    ...scanned({}),
    id: Buffer.from('1'),
    method: 'tools/call',
    envelope,
    caller,
    paramHeaders: new Map(),
  }
  return { heard, request, answer }
}

const progress = (value: number) =>
  notification({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 7, progress: value },
  })
const log = (level: string) =>
  notification({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: level } })

it('M-PRG-01: gives progress the token of the leg, type kept, and none to a leg without', () => {
  const legs = createLegs()
  const one = leg('"7"')
  legs.add(one.request, one.answer)
  legs.notify(progress(1))
  expect(one.heard[0]?.params).toEqual({ progressToken: '7', progress: 1 })
  const two = leg()
  legs.add(two.request, two.answer)
  legs.notify(progress(2))
  expect(two.heard).toEqual([])
})

it('M-PRG-02: drops progress that does not rise, for each leg on its own', () => {
  const legs = createLegs()
  const one = leg('1')
  const { number } = legs.add(one.request, one.answer)
  for (const value of [2, 1, 2, 3]) legs.notify(progress(value))
  expect(one.heard.map((each) => each.params.progress)).toEqual([2, 3])
  legs.remove(number)
  const two = leg('2')
  legs.add(two.request, two.answer)
  legs.notify(progress(1))
  expect(two.heard.map((each) => each.params.progress)).toEqual([1])
})

it('M-LOG-01: gives log messages of the level that the leg asked for', () => {
  const legs = createLegs()
  const one = leg(undefined, 'warning')
  legs.add(one.request, one.answer)
  for (const level of ['info', 'warning', 'error', 'odd']) legs.notify(log(level))
  expect(one.heard.map((each) => each.params.level)).toEqual(['warning', 'error'])
})

it('keeps what comes between legs for the next, the newest where it is too much', () => {
  const legs = createLegs()
  for (let i = 1; i <= 100; i += 1) legs.notify(progress(i))
  const one = leg('1')
  const added = legs.add(one.request, one.answer)
  legs.catchUp(added)
  expect(one.heard).toHaveLength(64)
  expect(one.heard.at(-1)?.params.progress).toBe(100)
})
