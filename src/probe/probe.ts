import { createClock } from '../clock.ts'
import { UpstreamRefusal } from '../errors.ts'
import { askEra } from '../upstream/askEra.ts'
import { createWire } from '../upstream/wire.ts'
import { createDeadline } from './deadline.ts'
import { type Facts, noFacts } from './facts.ts'
import { createHide, type Hide } from './hide.ts'
import { createLegacyProbe } from './legacy.ts'
import { probeModern } from './modern.ts'
import { problemsOf, remarksOn } from './remarks.ts'
import { createWitness, shown } from './witness.ts'

export interface ProbeOptions {
  readonly url: URL
  /** Sent with every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** For all of it but its end. */
  readonly timeoutMs: number
}

/** How long the ends of the sessions may take. */
const CLOSE_MS = 1_000

/**
 * What clients of 2026-07-28 will see of a server through the proxy: it is asked as the proxy asks, with the
 * proxy's own code, no tool is called, and every session is ended. Never fails; credentials are in nothing it
 * tells, whatever the server repeats.
 */
export async function probe({ url, headers, timeoutMs }: ProbeOptions, signal: AbortSignal): Promise<Facts> {
  const clock = createClock()
  const hide = createHide(headers, url)
  const { wire, tried, asked } = createWitness(createWire(url), hide.text)
  const facts = noFacts(shown(url), tried, asked)
  const deadline = createDeadline(clock, timeoutMs, signal)
  let lastId = 0
  const nextId = (): number => ++lastId
  const options = { channel: { wire, url, headers, clock }, nextId, deadline, hide }
  const legacy = createLegacyProbe(options, facts)
  try {
    facts.discover = await deadline.within(askEra(options.channel, nextId(), {}))
    await (facts.discover === 'modern' ? probeModern(options, facts) : legacy.run())
    facts.usable = true
  } catch (error) {
    failed(facts, error, hide)
  }
  deadline.stop()
  conclude(facts)
  // What the server asked while it was being left is no part of it.
  const seen = { ...facts, asked: [...asked], tried: tried.map((each) => ({ ...each })) }
  const ended = legacy.close()
  const stop = await firstOf(ended, (done) => clock.after(CLOSE_MS, done))
  stop()
  await wire.close()
  await ended
  return seen
}

function failed(facts: Facts, error: unknown, hide: Hide): void {
  if (error instanceof UpstreamRefusal) {
    const { status, challenge } = error
    facts.refused = { status, challenge: challenge === undefined ? null : hide.text(challenge) }
  }
  facts.problems.push(sentence(hide.text(error instanceof Error ? error.message : String(error))))
}

function conclude(facts: Facts): void {
  const lists = Object.values(facts.lists).filter((each) => each !== null)
  if (facts.usable && lists.length > 0 && lists.every((each) => each.failure !== null)) {
    facts.usable = false
    const failures = lists.map((each) => each.failure).join('; ')
    facts.problems.push(`None of the lists that it declares could be read (${failures}).`)
  }
  const answered = facts.tried.find((each) => each.method?.endsWith('/list') && each.status === 200)
  if (facts.transport === 'streamable-http') {
    if (answered?.type === 'application/json') facts.answers = 'json'
    if (answered?.type === 'text/event-stream') facts.answers = 'event-stream'
  }
  facts.problems.push(...problemsOf(facts))
  facts.remarks.push(...remarksOn(facts))
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`

/** Resolves with how to stop the timer, when `ended` does or the timer comes first. */
function firstOf(ended: Promise<void>, after: (done: () => void) => () => void): Promise<() => void> {
  return new Promise((resolve) => {
    const stop = after(() => resolve(stop))
    void ended.then(() => resolve(stop))
  })
}
