import { GatewayError, UpstreamRefusal } from '../errors.ts'
import type { Lease, Want } from '../upstream/pool.ts'
import type { Call, CallSink, Headers, Session } from '../upstream/session.ts'
import type { Upstream } from '../upstream/upstream.ts'

export interface LineOptions {
  readonly upstream: Upstream
  readonly want: Want
  /** The call may be asked, so its session is its alone. */
  readonly exclusive: boolean
  readonly sink: CallSink
  /** Makes the call's message for this session. */
  readonly body: (id: number, session: Session) => Buffer
}

/** An exchange's way to its upstream: one lease, one call on it. */
export interface Line {
  session(): Session | undefined
  /** @throws GatewayError, UpstreamRefusal */
  lease(): Promise<Session>
  /** Sends the call on the lease. */
  send(credentials: Headers): void
  /** Answers a server request; `unauthorized` means that the question stays open. */
  answer(id: Buffer, payload: Buffer, credentials: Headers): Promise<'done' | UpstreamRefusal | GatewayError>
  /** `notifications/cancelled` for the call, whose response is dropped. */
  cancel(credentials: Headers): void
  suspended(yes: boolean): void
  /** Gives the lease back once everything that was being posted has left. */
  release(clean: boolean): Promise<void>
  /** Leaves the queue for a lease. */
  giveUp(): void
}

/** A session is given back or closed at the latest this long after, whatever is still being posted to it. */
const LAST_WORDS_MS = 1_000

export function createLine(options: LineOptions, after: (ms: number, act: () => void) => () => void): Line {
  const { upstream, want, exclusive, sink } = options
  /** Only while a lease is waited for. */
  let queued: AbortController | undefined
  const posting = new Set<Promise<unknown>>()
  let lease: Lease | undefined
  let detach = (): void => undefined
  let call: Call | undefined
  let callId = 0
  /** Answers that did not arrive, by the ids of their requests: the upstream still waits for them. */
  const undelivered = new Set<string>()
  let over = false

  async function take(): Promise<Session> {
    const taken = exclusive ? await queue() : await upstream.share(want)
    if (over) {
      taken.release(true)
      throw new Error('the client left')
    }
    lease = taken
    detach = taken.exclusive ? taken.session.attach(sink) : () => undefined
    return taken.session
  }

  async function queue(): Promise<Lease> {
    queued = new AbortController()
    try {
      return await upstream.lease(want, queued.signal)
    } finally {
      queued = undefined
    }
  }

  function send(credentials: Headers): void {
    const session = lease?.session
    if (session === undefined || over) return
    callId = upstream.nextId()
    call = session.call(callId, options.body(callId, session), credentials, sink)
  }

  function track<T>(posted: Promise<T>): Promise<T> {
    posting.add(posted)
    void posted.finally(() => posting.delete(posted)).catch(() => undefined)
    return posted
  }

  return {
    session: () => lease?.session,
    lease: take,
    send,
    async answer(id, payload, credentials) {
      const session = lease?.session
      if (session === undefined) return 'done'
      try {
        await track(session.answer(id, payload, credentials))
        undelivered.delete(id.toString('latin1'))
        return 'done'
      } catch (error) {
        undelivered.add(id.toString('latin1'))
        if (error instanceof UpstreamRefusal || error instanceof GatewayError) return error
        throw error
      }
    },
    cancel(credentials) {
      if (call === undefined || lease === undefined) return
      call.drop()
      void track(lease.session.notify(cancelled(callId), credentials))
    },
    suspended: (yes) => lease?.suspended(yes),
    async release(clean) {
      const given = lease
      const leave = detach
      lease = undefined
      call = undefined
      if (given === undefined) return
      // What is asked from now on is nobody's, and refused as such.
      leave()
      if (posting.size > 0) {
        await new Promise<void>((resolve) => {
          const stop = after(LAST_WORDS_MS, resolve)
          void Promise.allSettled(posting).then(() => {
            stop()
            resolve()
          })
        })
      }
      given.release(clean && undelivered.size === 0)
    },
    giveUp() {
      over = true
      queued?.abort()
    },
  }
}

const cancelled = (id: number): Buffer =>
  Buffer.from(
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"the client left"}}`,
  )
