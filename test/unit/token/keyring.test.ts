import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createKeyring } from '../../../src/token/keyring.ts'
import { createSeal } from '../../../src/token/seal.ts'

const ONE = '11'.repeat(32)
const TWO = Buffer.alloc(32, 0x22).toString('base64url')

function keysFile(...lines: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'keys')
  writeFileSync(file, lines.join('\n'))
  return file
}

const ringOf = (...keys: string[]) => createKeyring({ keys, keysFile: null })

it('seals with the first key and opens with all', () => {
  const ring = ringOf(ONE, TWO)
  expect(ring.current()).toBe(ringOf(ONE).current())
  expect(ring.has(ringOf(TWO).current())).toBe(true)
  const old = createSeal(ringOf(TWO), 'test').seal(() => Buffer.from('x'))
  expect(createSeal(ring, 'test').open(old).plain.toString()).toBe('x')
})

it('names a key the same however it is written, and tells nothing of it', () => {
  expect(ringOf('22'.repeat(32)).current()).toBe(ringOf(TWO).current())
  expect(ringOf(TWO).current()).toMatch(/^[\w-]{8}$/)
  expect(TWO).not.toContain(ringOf(TWO).current())
})

it('is another key for another purpose or salt', () => {
  const ring = ringOf(ONE)
  const kid = ring.current()
  const salt = Buffer.alloc(16)
  const derived = ring.derive(kid, 'a', salt)
  expect(derived).toHaveLength(32)
  expect(ring.derive(kid, 'a', salt)).toEqual(derived)
  expect(ring.derive(kid, 'b', salt)).not.toEqual(derived)
  expect(ring.derive(kid, 'a', Buffer.alloc(16, 1))).not.toEqual(derived)
  expect(derived.toString('hex')).not.toBe(ONE)
  expect(() => ring.derive('AAAAAAAA', 'a', salt)).toThrow('no such key')
})

it('makes a key up where there is none, another one each time', () => {
  const ring = ringOf()
  expect(ring.ephemeral).toBe(true)
  expect(ring.current()).not.toBe(ringOf().current())
  const kid = ring.current()
  ring.reload()
  expect(ring.current()).toBe(kid)
  expect(ringOf(ONE).ephemeral).toBe(false)
})

it('reads the file again, and keeps its keys where that fails', () => {
  const file = keysFile(TWO, '')
  const ring = createKeyring({ keys: [], keysFile: file })
  const sealed = createSeal(ring, 'test').seal(() => Buffer.from('x'))
  expect([ring.ephemeral, ring.current()]).toEqual([false, ringOf(TWO).current()])

  writeFileSync(file, `${ONE}\r\n${TWO}\r\n`)
  ring.reload()
  expect(ring.current()).toBe(ringOf(ONE).current())
  expect(createSeal(ring, 'test').open(sealed).plain.toString()).toBe('x')

  writeFileSync(file, `${ONE}\nno key\n`)
  expect(() => ring.reload()).toThrow('is not 32 bytes')
  writeFileSync(file, '\n')
  expect(() => ring.reload()).toThrow('has no key')
  rmSync(file)
  expect(() => ring.reload()).toThrow('ENOENT')
  expect(ring.current()).toBe(ringOf(ONE).current())

  writeFileSync(file, ONE)
  ring.reload()
  expect(() => createSeal(ring, 'test').open(sealed)).toThrow('kid')
})

it('says which key is wrong without saying the key', () => {
  const file = keysFile(ONE, 'S3CRET')
  const act = () => createKeyring({ keys: [], keysFile: file })
  expect(act).toThrow(`${file}: key 2 is not`)
  expect(act).not.toThrow('S3CRET')
})
