import { isRecord } from '../mcp/isRecord.ts'
import { knows } from '../mcp/revision.ts'
import type { Facts } from './facts.ts'

/** What may help where a server cannot be used: what its answers look like. */
export function problemsOf({ usable, refused, tried, url }: Facts): string[] {
  if (usable) return []
  const hints: string[] = []
  if (refused !== null) {
    const wants = refused.challenge === null ? 'without a challenge' : `and asks for: ${refused.challenge}`
    hints.push(`It answers ${refused.status} ${wants}. Credentials are given with --header 'name: value'.`)
    return hints
  }
  const moved = tried.find((each) => each.location !== null && (each.status ?? 0) >= 300)
  if (moved !== undefined)
    hints.push(`It redirects to ${moved.location}: give that URL, if it is the server's.`)
  const { pathname } = new URL(url)
  if (tried.some((each) => each.type === 'text/html' && each.status === 200))
    hints.push(`What answers at ${pathname} is a web page: ${PATHS}`)
  else if (tried.some((each) => each.status === 404)) hints.push(`Nothing is at ${pathname}: ${PATHS}`)
  if (tried.some((each) => UNREACHABLE.test(each.failure ?? '')))
    hints.push('Nothing answers at this address: is the server running, and is the port right?')
  else if (tried.length > 0 && tried.every((each) => each.failure !== null))
    hints.push('What is there does not answer as a web server: are the port, and http or https, right?')
  else if (tried.some((each) => each.status === null && each.failure === null))
    hints.push('It takes connections but leaves requests unanswered; --timeout MS gives it longer.')
  return hints
}

const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/
const PATHS = 'the path is often /mcp, or /sse for the older transport.'

/** What of a server that can be used will not work, and why, in whole sentences. */
export function remarksOn(facts: Facts): string[] {
  if (!facts.usable) return []
  return [...(facts.era === 'modern' ? onModern(facts) : onLegacy(facts)), ...onLists(facts)]
}

function onModern({ discover }: Facts): string[] {
  return discover === 'modern'
    ? [
        'It is modern: its modern clients are passed through byte for byte. Clients of earlier revisions are passed to it too; whether it serves them was not asked.',
      ]
    : []
}

function onLegacy(facts: Facts): string[] {
  return [
    ...onAnswers(facts),
    ...onStream(facts),
    ...onRevision(facts),
    ...onDiscover(facts),
    ...onSessions(facts),
  ]
}

function onAnswers({ sessions, answers, stream }: Facts): string[] {
  const remarks: string[] = []
  if (sessions === false)
    remarks.push(
      'It keeps no sessions, so it cannot hear an answer: tools that ask (elicitation, sampling, roots) will not work, others will.',
    )
  if (answers === 'json')
    remarks.push(
      stream
        ? "It answers lists as JSON alone. If it answers calls so too, what it asks on a call's own stream is lost, and such a call runs into requestTimeoutMs; what it asks on the GET stream arrives."
        : 'It answers lists as JSON alone and has no GET stream. If it answers calls so too, it can ask nothing.',
    )
  return remarks
}

function onStream({ stream, capabilities }: Facts): string[] {
  if (stream !== false) return []
  const promised = JSON.stringify(capabilities?.declared) !== JSON.stringify(capabilities?.seen)
  const more = promised ? ', although it declares some, and clients are not promised them' : ''
  return [
    `It has no stream for server messages, so changes of lists and resources are not heard of${more}; questions must come on a call's own stream.`,
  ]
}

function onRevision({ revision, capabilities }: Facts): string[] {
  if (revision === null) return []
  const remarks: string[] = []
  const known = knows(revision)
  if (known.elicitation === 'none')
    remarks.push(`Revision ${revision} has no elicitation: it can ask for sampling and roots alone.`)
  if (known.elicitation === 'plain')
    remarks.push(`Revision ${revision} has elicitation by forms, not by URL, and sampling without tools.`)
  if (isRecord(capabilities?.declared) && Object.hasOwn(capabilities.declared, 'tasks'))
    remarks.push('It declares tasks, which clients of 2026-07-28 are not offered.')
  return remarks
}

function onDiscover({ discover }: Facts): string[] {
  if (discover === 'silent')
    return [
      'It says nothing to server/discover, so a first client waits 2 s for its era: upstream.era: legacy saves that.',
    ]
  if (discover === 'nothing')
    return [
      'It answers server/discover with what tells no era, so that each first request asks again: upstream.era: legacy saves that.',
    ]
  return []
}

function onSessions({ secondSessionFailure, broadcasts }: Facts): string[] {
  const remarks: string[] = []
  if (secondSessionFailure !== null)
    remarks.push(
      `A second session could not be opened beside the first (${secondSessionFailure}): one call that can be asked at a time.`,
    )
  if (broadcasts)
    remarks.push(
      'It sends its questions to all sessions, so nobody can tell whose they are: one call that can be asked at a time.',
    )
  return remarks
}

function onLists({ lists }: Facts): string[] {
  const failures = Object.values(lists).flatMap((each) => each?.failure ?? [])
  return failures.map((failure) => `A list could not be read to its end: ${failure}.`)
}
