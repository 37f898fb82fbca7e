import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const TEST = new URL('..', import.meta.url).pathname
const [list = '', untested = ''] = readFileSync(join(TEST, 'obligations.md'), 'utf8')
  .split(/^## /m)
  .slice(1, 3)

/** The cells of a table's rows below its head. */
function cellsOf(section: string): string[][] {
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(1).map((line) => line.split('|').map((cell) => cell.trim()))
}

const two = (number: number): string => String(number).padStart(2, '0')
const upTo = (first: string, last = first): number[] =>
  Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index)

/** The rows and cases that a text names, ranges such as `X-CAP-08…13` too. */
function namedIn(text: string): string[] {
  const rows = text.matchAll(/\b([AT]|[MLX]-[A-Z]+)-(\d\d)(?:…(\d\d))?\b/g)
  const cases = text.matchAll(/\bcases? (\d+(?:, \d+)*)\b/g)
  return [
    ...[...rows].flatMap(([, family = '', first = '', last]) =>
      upTo(first, last).map((number) => `${family}-${two(number)}`),
    ),
    ...[...cases].flatMap(([, numbers = '']) =>
      numbers.split(', ').map((number) => `case ${Number(number)}`),
    ),
  ]
}

function testFiles(): string[] {
  const all = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
  return all.filter((path) => path.endsWith('.ts') && !path.endsWith('obligations.test.ts'))
}

const all = cellsOf(list).flatMap(([, family = '', rows = '']) => {
  const [first = '', last] = rows.split('–')
  return upTo(first, last).map((number) =>
    family === 'cases' ? `case ${number}` : `${family}-${two(number)}`,
  )
})
const excused = cellsOf(untested).flatMap(([, rows = '']) => namedIn(rows))
const named = new Set(testFiles().flatMap((path) => namedIn(readFileSync(join(TEST, path), 'utf8'))))

it('every row and case is named by a test, or has a line that says why not', () => {
  expect(all.length).toBeGreaterThan(300)
  expect(all.filter((id) => !named.has(id) && !excused.includes(id))).toEqual([])
})

it('no line excuses what a test names, or what there is not', () => {
  expect(excused.filter((id) => named.has(id) || !all.includes(id))).toEqual([])
  expect(excused.filter((id, index) => excused.indexOf(id) !== index)).toEqual([])
})

it('no test names a row or a case that there is not', () => {
  expect([...named].filter((id) => !all.includes(id))).toEqual([])
})

it('the tests that the lines point to are there', () => {
  const paths = [...`${list}${untested}`.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(10)
  expect(paths.filter((path) => !existsSync(join(TEST, '..', path)))).toEqual([])
})
