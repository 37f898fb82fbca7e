import { expect, it } from 'vitest'
import { isLoopback } from '../../../src/http/loopback.ts'

it.each([
  '127.0.0.1',
  '127.0.0.1:80',
  '127.9.8.7:1',
  'localhost:8808',
  'LOCALHOST',
  '::1',
  '[::1]:8808',
  '[::1]',
])('%s is loopback', (address) => expect(isLoopback(address)).toBe(true))

it.each([
  '0.0.0.0:80',
  '[::]:80',
  '::',
  '10.0.0.1',
  '127.0.0.1.example:80',
  'localhost.example',
  '[::2]:1',
  '',
])('%s is not', (address) => expect(isLoopback(address)).toBe(false))
