import { isRecord } from '../mcp/isRecord.ts'
import type { Facts, Listed, Tried } from './facts.ts'

const WIDTH = 100
const LABEL = 14

/** The facts for people: aligned text, ending in a line break; `colour` for terminals. */
export function report(facts: Facts, colour: boolean): string {
  const paint = (code: number, text: string): string => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)
  const verdict = facts.usable ? paint(32, verdictOf(facts)) : paint(31, verdictOf(facts))
  const blocks = [[`${paint(1, plain(facts.url))}  ${verdict}`]]
  if (facts.era !== null) blocks.push(rowsOf(facts).flatMap(([label, text]) => row(label, text)))
  if (facts.capabilities !== null) blocks.push(capabilityRows(facts.capabilities))
  if (facts.problems.length > 0) blocks.push(['why not', ...facts.problems.flatMap(bullet)])
  if (facts.remarks.length > 0) blocks.push(['remarks', ...facts.remarks.flatMap(bullet)])
  if (!facts.usable) blocks.push(['what was tried', ...facts.tried.map(triedLine)])
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function verdictOf({ usable, remarks }: Facts): string {
  if (!usable) return 'cannot be used'
  const count = remarks.length
  return count === 0 ? 'works' : `works, with ${count} ${count === 1 ? 'remark' : 'remarks'}`
}

function rowsOf(facts: Facts): [string, string][] {
  const { server, era, revision, lists } = facts
  const rows: [string, string][] = [
    ['transport', facts.transport ?? 'not known'],
    ['era', era ?? 'not known'],
    ['revision', revision ?? 'not known'],
    ['server', server === null ? 'does not say' : `${server.name} ${server.version}`],
  ]
  if (era === 'legacy')
    rows.push(
      ['sessions', facts.sessions ? 'kept' : 'none'],
      ['stream', streamOf(facts)],
      ['answers as', answersOf(facts)],
      ['asks', asksOf(facts)],
    )
  if (facts.broadcasts) rows.push(['broadcasts', 'yes: one question was seen on two sessions'])
  rows.push(['tools', listed(lists.tools, true)])
  rows.push(['prompts', listed(lists.prompts, false)])
  const templates = lists.resourceTemplates
  const also = templates === null ? '' : `, templates ${listed(templates, false)}`
  rows.push(['resources', `${listed(lists.resources, false)}${lists.resources === null ? '' : also}`])
  return rows
}

function streamOf({ stream, transport }: Facts): string {
  if (!stream) return 'none for server messages'
  return transport === 'http+sse' ? 'the SSE stream' : 'a GET stream'
}

function answersOf({ transport, answers }: Facts): string {
  if (transport === 'http+sse') return 'events on the SSE stream'
  if (answers === null) return 'not seen'
  return answers === 'json' ? 'JSON' : 'event streams'
}

function asksOf({ asked, transport }: Facts): string {
  if (asked.length === 0) return 'nothing seen outside of calls, so its stream for questions is not known'
  const name = (stream: string): string =>
    transport === 'http+sse'
      ? 'the SSE stream'
      : stream === 'GET'
        ? 'the GET stream'
        : "a request's own stream"
  return asked.map(({ method, stream }) => `${method} on ${name(stream)}`).join(', ')
}

function listed(list: Listed | null, named: boolean): string {
  if (list === null) return 'not declared'
  const { count, names, more, failure } = list
  if (failure !== null && count === 0) return 'could not be read'
  const tail = named && count > 0 ? `: ${names.join(', ')}${more ? ', …' : ''}` : ''
  return `${count}${more ? ' and more' : ''}${tail}`
}

function capabilityRows({ declared, seen }: { declared: unknown; seen: unknown }): string[] {
  const [own, theirs] = [isRecord(declared) ? declared : {}, isRecord(seen) ? seen : {}]
  const names = [...new Set([...Object.keys(own), ...Object.keys(theirs)])].sort()
  const rows = names.map((name) => [name, said(own[name]), said(theirs[name])])
  const table = [['capability', 'the server declares', 'modern clients see'], ...rows]
  const widths = [0, 1].map((column) => Math.max(...table.map((cells) => plain(cells[column] ?? '').length)))
  return table.map((cells) =>
    cells
      .map((cell, column) => plain(cell).padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** A capability in a few words: its members that are not false. */
function said(capability: unknown): string {
  if (capability === undefined) return '–'
  if (!isRecord(capability)) return JSON.stringify(capability)
  const members = Object.entries(capability).filter(([, value]) => value !== false)
  if (members.length === 0) return 'yes'
  return members.map(([name]) => name).join(', ')
}

function triedLine({ verb, url, method, status, type, location, failure }: Tried): string {
  const what = method === null ? '' : ` ${method}`
  const head = status === null ? (failure ?? 'no answer') : `${status} ${type ?? ''}`.trim()
  const to = location === null ? '' : `, to ${location}`
  return plain(`  ${verb} ${url}${what} → ${head}${to}`)
}

const bullet = (text: string): string[] =>
  wrapped(text, WIDTH - 4).map((line, index) => `${index ? '   ' : ' - '}${line}`)

function row(label: string, text: string): string[] {
  const lines = wrapped(text, WIDTH - LABEL)
  return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(LABEL)}${line}`)
}

function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of plain(text).split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

/** Without what a terminal would obey, since servers choose their names. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  return text.replace(/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
}
