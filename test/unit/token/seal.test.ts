import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeyring } from '../../../src/token/keyring.ts'
import { createSeal, SealError } from '../../../src/token/seal.ts'

const keyring = createKeyring({ keys: ['11'.repeat(32)], keysFile: null })
const box = createSeal(keyring, 'test')
const sealOf = (plain: Buffer): string => box.seal(() => plain)

function reasonOf(text: string, by = box): string {
  try {
    by.open(text)
  } catch (error) {
    if (error instanceof SealError) return error.reason
    throw error
  }
  return 'opened'
}

describe('M-MRTR-07: every character counts', () => {
  it('opens to what was sealed, under a name without meaning', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        const text = sealOf(Buffer.from(bytes))
        const { kid, plain } = box.open(text)
        expect(text).toMatch(/^mp1\.[\w-]{8}\.[\w-]+$/)
        expect([kid, plain]).toEqual([keyring.current(), Buffer.from(bytes)])
      }),
    )
  })

  it('refuses every change of a single character', () => {
    // Lengths of all remainders by three, so that the last character has two, four and no idle bits.
    for (const length of [40, 41, 42]) {
      const text = sealOf(Buffer.alloc(length, 7))
      for (let at = 0; at < text.length; at += 1) {
        for (const other of ['A', 'B', 'Q', '_', '-', '.', '=', ' ', '\n', '+', '/', 'é']) {
          if (text[at] === other) continue
          expect(reasonOf(text.slice(0, at) + other + text.slice(at + 1)), `${other} at ${at}`).not.toBe(
            'opened',
          )
        }
      }
    }
  })

  it('refuses any character anywhere, put in, taken out or changed', () => {
    const text = sealOf(Buffer.from('{"a":1}'))
    const edit = fc.record({
      at: fc.nat(text.length - 1),
      take: fc.integer({ min: 0, max: 3 }),
      put: fc.string({ unit: 'binary', maxLength: 3 }),
    })
    fc.assert(
      fc.property(edit, ({ at, take, put }) => {
        const changed = text.slice(0, at) + put + text.slice(at + take)
        fc.pre(changed !== text)
        expect(reasonOf(changed)).not.toBe('opened')
      }),
      { numRuns: 1000 },
    )
  })

  it('refuses another spelling of the same bytes', () => {
    const text = sealOf(Buffer.alloc(41, 7))
    const [prefix, kid, body = ''] = text.split('.')
    const bytes = Buffer.from(body, 'base64url')
    const idle = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const same = [...idle]
      .map((last) => body.slice(0, -1) + last)
      .filter((each) => each !== body && Buffer.from(each, 'base64url').equals(bytes))
    expect(bytes.length % 3).not.toBe(0)
    expect(same.length).toBeGreaterThan(0)
    for (const each of [...same, `${body}=`, `${body}==`, `${body}\n`]) {
      expect(reasonOf(`${prefix}.${kid}.${each}`)).toBe('seal')
    }
  })
})

describe('reasons', () => {
  const text = sealOf(Buffer.from('x'))
  const [, kid, body] = text.split('.')

  it.each([
    ['length', 'a'.repeat(65_537)],
    ['length', `mp1.${kid}.${'A'.repeat(65_536)}`],
    ['prefix', ''],
    ['prefix', 'mp1'],
    ['prefix', `mp1.${kid}`],
    ['prefix', `mp2.${kid}.${body}`],
    ['prefix', `MP1.${kid}.${body}`],
    ['prefix', `${text}.`],
    ['prefix', ` ${text}`],
    ['kid', `mp1..${body}`],
    ['kid', `mp1.AAAAAAAA.${body}`],
    ['seal', `mp1.${kid}.`],
    ['seal', `mp1.${kid}.AAAA`],
    ['seal', `mp1.${kid}.${Buffer.alloc(32).toString('base64url')}`],
  ])('is %s', (reason, given) => expect(reasonOf(given)).toBe(reason))

  it('keeps purposes apart', () => {
    expect(reasonOf(text, createSeal(keyring, 'other'))).toBe('seal')
  })

  it('does not let one key open under the name of another', () => {
    const two = createKeyring({ keys: ['11'.repeat(32), '22'.repeat(32)], keysFile: null })
    const other = createKeyring({ keys: ['22'.repeat(32)], keysFile: null }).current()
    expect(reasonOf(`mp1.${other}.${body}`, createSeal(two, 'test'))).toBe('seal')
    expect(reasonOf(text, createSeal(two, 'test'))).toBe('opened')
  })

  it('seals the same bytes differently each time', () => {
    const sealed = Array.from({ length: 50 }, () => sealOf(Buffer.from('same')))
    expect(new Set(sealed).size).toBe(50)
  })
})
