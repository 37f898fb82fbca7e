import { expect, it } from 'vitest'
import { createLog, type Log } from '../../../src/observe/log.ts'

function linesOf(level: string, act: (log: Log) => void): Record<string, unknown>[] {
  const lines: string[] = []
  act(createLog(level, { write: (line) => void lines.push(line) }))
  return lines.map((line) => JSON.parse(line))
}

it('A-09, M-LOG-04: writes JSON lines without what could be a credential', () => {
  const request = {
    headers: { authorization: 'S3CRET' },
    cookie: 'S3CRET',
    token: 'S3CRET',
    method: 'tools/call',
  }
  const fields = { route: '/mcp', authorization: 'S3CRET', keys: ['S3CRET'], requestState: 'S3CRET', request }
  const [line] = linesOf('info', (log) => log.info(fields, 'serving'))
  expect(JSON.stringify(line)).not.toContain('S3CRET')
  expect(line).toMatchObject({ msg: 'serving', route: '/mcp', request: { method: 'tools/call' } })
})

it('leaves out what is below its level', () => {
  const act = (log: Log): void => {
    log.info('no')
    log.warn('yes')
  }
  expect(linesOf('warn', act).map(({ msg }) => msg)).toEqual(['yes'])
  expect(linesOf('silent', act)).toEqual([])
})
