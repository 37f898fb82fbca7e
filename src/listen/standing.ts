import type { Clock } from '../clock.ts'
import { GatewayError, UpstreamRefusal } from '../errors.ts'
import type { Lease, Want } from '../upstream/pool.ts'
import type { Session } from '../upstream/session.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Asking } from './asking.ts'

export interface StandingOptions {
  readonly upstream: Upstream
  readonly want: Want
  readonly clock: Clock
  readonly asking: Asking
  /** There is a session again, after one was lost. */
  readonly onBack: () => void
  /** The upstream takes these credentials no longer, or did not come back. */
  readonly onOver: () => void
}

const FIRST_WAIT_MS = 250
const LAST_WAIT_MS = 30_000
/** A session that lived this long was a good one: the next waiting begins small again. */
const STEADY_MS = 30_000
/** Past this the upstream is gone for good; clients then come back by themselves. */
const GIVE_UP_MS = 300_000
/** How long credentials are taken to be good without the upstream having seen them. */
const RECHECK_MS = 60_000
const RECHECK_TIMEOUT_MS = 10_000

/**
 * A session that stays while somebody listens: shared with the calls of its key, opened again when it is lost,
 * with growing pauses, and asked once a minute whether the upstream still takes the credentials.
 */
export function createStanding({ upstream, want, clock, asking, onBack, onOver }: StandingOptions) {
  const left = new AbortController()
  let lease: Lease | undefined
  let opening: Promise<Session> | undefined
  let stopTimer = (): void => undefined
  let openedMs = 0
  let failures = 0
  /** When the session was lost that there is no new one for yet. */
  let lostMs: number | undefined

  /**
   * The session, opened if there is none.
   *
   * @throws GatewayError, UpstreamRefusal
   */
  function session(): Promise<Session> {
    if (lease !== undefined) return Promise.resolve(lease.session)
    opening ??= open().finally(() => {
      opening = undefined
    })
    return opening
  }

  async function open(): Promise<Session> {
    const taken = await upstream.share(want, left.signal)
    if (left.signal.aborted || taken.session.retired()) {
      taken.release(true)
      throw new GatewayError('upstream_closed', 'the upstream closed the session at once')
    }
    // It does nothing and may do so for hours: nobody is to wait for it.
    taken.suspended(true)
    lease = taken
    openedMs = clock.now()
    recheckLater()
    if (lostMs !== undefined) {
      lostMs = undefined
      onBack()
    }
    return taken.session
  }

  function later(ms: number, act: () => void): void {
    stopTimer()
    stopTimer = clock.after(ms, act)
  }

  function recheckLater(): void {
    later(RECHECK_MS, () => void recheck())
  }

  /** Whatever it answers but a refusal, it has seen the credentials. */
  async function recheck(): Promise<void> {
    const current = lease?.session
    if (current === undefined) return
    try {
      await asking.ask(current, 'ping', {}, RECHECK_TIMEOUT_MS)
      if (lease?.session === current) recheckLater()
    } catch {
      if (!left.signal.aborted) onOver()
    }
  }

  /** `gone` is lost or of no more use. */
  function replace(gone: Session): void {
    if (lease?.session !== gone) return
    const nowMs = clock.now()
    lease.release(true)
    lease = undefined
    if (nowMs - openedMs >= STEADY_MS) failures = 0
    lostMs = nowMs
    retry()
  }

  function retry(): void {
    const fullMs = Math.min(FIRST_WAIT_MS * 2 ** failures, LAST_WAIT_MS)
    failures += 1
    later(fullMs * (0.5 + Math.random() / 2), () => {
      session().catch((error: unknown) => {
        if (left.signal.aborted || lease !== undefined) return
        const lost = lostMs ?? clock.now()
        if (error instanceof UpstreamRefusal || clock.now() - lost >= GIVE_UP_MS) onOver()
        else retry()
      })
    })
  }

  return {
    session,
    /** The session of the moment, if there is one. */
    now: (): Session | undefined => lease?.session,
    replace,
    /** Gives the session back, now or when it comes. */
    close(): void {
      left.abort()
      stopTimer()
      lease?.release(true)
      lease = undefined
    },
  }
}
