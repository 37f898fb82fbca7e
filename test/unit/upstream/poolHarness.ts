import { allCapabilities } from '../../../src/mcp/capabilities.ts'
import type { OpenRequest } from '../../../src/upstream/opening.ts'
import { createPool, type Lease, type PoolLimits, type Want } from '../../../src/upstream/pool.ts'
import type { Session } from '../../../src/upstream/session.ts'
import { createManualClock } from '../http/manualClock.ts'
import { type FakeSession, fakeSession } from './fakeSession.ts'

/** One opening that the test decides on. */
export interface Opening {
  readonly principal: string
  readonly serial: number
  succeed(sessionful?: boolean): FakeSession
  fail(error?: Error): void
  /** The upstream ends the session while it is opened. */
  lose(error: Error): void
}

/** What became of one who asked for a session. */
export interface Asked {
  readonly key: string
  readonly principal: string
  readonly shares: boolean
  readonly once: boolean
  lease: Lease | undefined
  error: unknown
  /** Leaves the queue. */
  leave(): void
}

export const LIMITS: PoolLimits = {
  max: 4,
  maxPerPrincipal: 4,
  maxOpening: 4,
  waitMs: 5_000,
  idleTtlMs: 60_000,
  pinned: false,
}

/** Lets everything that is ready happen. */
export const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** A pool whose sessions open when the test says so, on a clock that stands still. */
export function startPool(limits: Partial<PoolLimits> = {}, oneAtATime: () => boolean = () => false) {
  const clock = createManualClock()
  const openings: Opening[] = []
  const sessions = new Map<Session, FakeSession>()
  let serial = 0

  function open(request: OpenRequest): Promise<Session> {
    return new Promise((resolve, reject) => {
      serial += 1
      const mine = serial
      const principal = String(request.credentials.authorization)
      const over = (): void => void openings.splice(openings.indexOf(opening), 1)
      const opening: Opening = {
        principal,
        serial: mine,
        succeed(sessionful = true) {
          over()
          const fake = fakeSession(request, { principal, serial: mine, sessionful })
          sessions.set(fake.session, fake)
          resolve(fake.session)
          return fake
        },
        fail(error = new Error('no session')) {
          over()
          reject(error)
        },
        lose(error) {
          over()
          reject(error)
        },
      }
      openings.push(opening)
    })
  }

  const pool = createPool({ limits: { ...LIMITS, ...limits }, clock, open, oneAtATime })

  function ask(key: string, how: { principal?: string; shares?: boolean; once?: boolean } = {}): Asked {
    const { principal = key, shares = false, once = false } = how
    const gone = new AbortController()
    const want: Want = {
      context: key,
      key,
      principal,
      capabilities: allCapabilities,
      credentials: { authorization: principal },
      once,
    }
    const asked: Asked = {
      key,
      principal,
      shares,
      once,
      lease: undefined,
      error: undefined,
      leave: () => gone.abort(),
    }
    const promised = shares ? pool.share(want, gone.signal) : pool.lease(want, gone.signal)
    promised.then(
      (lease) => {
        asked.lease = lease
      },
      (error: unknown) => {
        asked.error = error
      },
    )
    return asked
  }

  /** Asks, and opens the session that this takes. */
  async function leased(key: string, how: Parameters<typeof ask>[1] = {}) {
    const asked = ask(key, how)
    openings[0]?.succeed()
    await settled()
    if (asked.lease === undefined) throw new Error(`no lease: ${String(asked.error)}`)
    const { lease } = asked
    return { ...asked, lease, session: lease.session }
  }

  return { pool, clock, openings, sessions, ask, leased }
}

export type PoolHarness = ReturnType<typeof startPool>
