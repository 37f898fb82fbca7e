import { createCompletes } from '../catalog/completes.ts'
import { allCapabilities, discoverResult } from '../mcp/capabilities.ts'
import { isRecord } from '../mcp/isRecord.ts'
import type { IncomingRequest } from '../mcp/message.ts'
import { SUPPORTED_REVISIONS } from '../mcp/revisions.ts'
import type { ChannelOptions } from '../upstream/channel.ts'
import { createNews } from '../upstream/news.ts'
import { type Learned, openSession } from '../upstream/opening.ts'
import { createOutside } from '../upstream/outside.ts'
import type { Session } from '../upstream/session.ts'
import { type Deadline, Expired } from './deadline.ts'
import type { Facts } from './facts.ts'
import type { Hide } from './hide.ts'
import type { Ask } from './list.ts'
import { readDeclared } from './readDeclared.ts'

export interface LegacyOptions {
  readonly channel: ChannelOptions
  readonly nextId: () => number
  readonly deadline: Deadline
  readonly hide: Hide
}

/** Some servers ask for roots 350 ms after a session was opened. */
const WATCH_MS = 500
const ROOTS = Buffer.from('"result":{"roots":[]}')
const REFUSED = Buffer.from('"error":{"code":-32601,"message":"a probe cannot be asked"}')
const HINTS = { ttlMs: 0, cacheScope: 'private' } as const

/**
 * Looks at a legacy server as a client does that can be asked everything, over two sessions; no tool is
 * called. The sessions are the caller's to `close`.
 */
export function createLegacyProbe({ channel, nextId, deadline, hide }: LegacyOptions, facts: Facts) {
  const learned: Learned = { transport: undefined, revision: undefined }
  const sessions: Promise<Session>[] = []
  const outside = createOutside(channel.clock, () => {
    facts.broadcasts = true
  })

  async function open(): Promise<Session> {
    const opening = openSession(
      {
        ...channel,
        transport: 'auto',
        learned,
        nextId,
        outside,
        news: createNews(),
        timeoutMs: deadline.leftMs(),
      },
      {
        context: 'probe',
        capabilities: allCapabilities,
        credentials: {},
        onLost: () => undefined,
        onRetired: () => undefined,
      },
    )
    sessions.push(opening)
    const session = await deadline.within(opening)
    const question = (request: IncomingRequest): void => answer(session, request)
    const holder = { question, withdrawn: noop, notification: noop, lost: noop }
    session.attach(holder)
    for (const request of session.takeRoots()) {
      outside.seen(request, holder)
      question(request)
    }
    return session
  }

  async function run(): Promise<void> {
    const session = await open()
    const { result, revision, capabilities, serverInfo } = session.handshake
    facts.era = 'legacy'
    facts.transport = learned.transport ?? null
    facts.revision = revision
    facts.sessions = session.sessionful()
    facts.stream = session.listening()
    facts.server = serverOf(serverInfo === undefined ? undefined : JSON.parse(serverInfo.toString()), hide)
    const asking = createCompletes(channel.clock)(session, nextId, {})
    const completions = asking && (await deadline.within(asking))
    const options = {
      streams: facts.stream,
      completions,
      supportedVersions: SUPPORTED_REVISIONS,
      hints: HINTS,
    }
    const discovered: unknown = JSON.parse(discoverResult(result, options).toString())
    const seen = isRecord(discovered) ? discovered.capabilities : {}
    facts.capabilities = { declared: hide.value(capabilities), seen: hide.value(seen) }
    await readDeclared(facts, capabilities, askOn(session), hide)
    if (facts.sessions) {
      try {
        await open()
      } catch (error) {
        if (error instanceof Expired) return
        facts.secondSessionFailure = hide.text(error instanceof Error ? error.message : String(error))
      }
    }
    await deadline.pause(WATCH_MS)
  }

  function askOn(session: Session): Ask {
    return (method, cursor) => {
      const id = nextId()
      const params = cursor === undefined ? {} : { params: { cursor } }
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, ...params }))
      const response = new Promise<Awaited<ReturnType<Ask>>>((resolve, reject) => {
        session.call(
          id,
          body,
          {},
          {
            response: resolve,
            failed: ({ error }) => reject(error),
            question: (request) => answer(session, request),
            withdrawn: noop,
            notification: noop,
            lost: noop,
          },
        )
      })
      return deadline.within(response)
    }
  }

  return {
    run,
    async close(): Promise<void> {
      outside.close()
      await Promise.allSettled(sessions.map(async (each) => (await each).close()))
    },
  }
}

/** A probe has no folders: an error in that place ends some servers, and so does no answer. */
function answer(session: Session, request: IncomingRequest): void {
  const payload = request.method === 'roots/list' ? ROOTS : REFUSED
  void session.answer(request.id, payload).catch(noop)
}

/** Name and version, if the server tells both. */
export function serverOf(info: unknown, hide: Hide): Facts['server'] {
  if (!isRecord(info) || typeof info.name !== 'string' || typeof info.version !== 'string') return null
  return { name: hide.text(info.name), version: hide.text(info.version) }
}

const noop = (): void => undefined
