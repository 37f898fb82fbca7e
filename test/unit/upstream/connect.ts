import { expect, onTestFinished } from 'vitest'
import { createClock } from '../../../src/clock.ts'
import type { GatewayError } from '../../../src/errors.ts'
import { allCapabilities, type Capabilities } from '../../../src/mcp/capabilities.ts'
import type { IncomingNotification, IncomingRequest, IncomingResponse } from '../../../src/mcp/message.ts'
import { loadOptions } from '../../../src/options/load.ts'
import type { CallFailure } from '../../../src/upstream/failure.ts'
import type { Want } from '../../../src/upstream/pool.ts'
import type { CallSink, Session } from '../../../src/upstream/session.ts'
import { createUpstream } from '../../../src/upstream/upstream.ts'

export const NO_ROOTS: Capabilities = { ...allCapabilities, roots: false }

/** A want of the key `a`; what is given replaces its members. */
export function want(given: Partial<Want> = {}): Want {
  return {
    context: 'a',
    key: 'a',
    principal: 'a',
    capabilities: NO_ROOTS,
    credentials: { authorization: 'Bearer a' },
    once: false,
    ...given,
  }
}

/**
 * Our side of an upstream, over real sockets; `set` takes `path=value` under `routes.0`.
 *
 * It is closed when the test ends, and by then no session, socket or timer may be left.
 */
export function connect(url: string, ...set: string[]) {
  const flags = { upstream: url, admin: 'off', set: set.map((each) => `routes.0.${each}`) }
  const [route] = loadOptions({ env: {}, flags }).routes
  if (route === undefined) throw new Error('no route')
  const clock = createClock()
  let broadcasts = 0
  const upstream = createUpstream(route, clock, () => {
    broadcasts += 1
  })
  let closed: Promise<void> | undefined

  async function closeOnce(): Promise<void> {
    await upstream.close()
    expect(upstream.counts()).toEqual({ idle: 0, leased: 0, shared: 0, opening: 0, closing: 0, sockets: 0 })
    expect(clock.pending()).toBe(0)
  }

  const close = (): Promise<void> => {
    closed ??= closeOnce()
    return closed
  }
  onTestFinished(close)

  const lease = (given: Partial<Want> = {}) => upstream.lease(want(given), new AbortController().signal)

  /** Sends a call and keeps what comes of it. */
  function call(session: Session, method = 'tools/call', params: object = {}) {
    const id = upstream.nextId()
    return { id, ...startCall(session, id, method, params) }
  }

  return { upstream, clock, lease, call, close, broadcasts: () => broadcasts }
}

/** What a holder hears; to be attached to a session, or given to a call. */
export function createEars() {
  const questions: { request: IncomingRequest; own: boolean }[] = []
  const notifications: { notification: IncomingNotification; own: boolean }[] = []
  const withdrawn: string[] = []
  const lost: GatewayError[] = []
  const listeners = new Set<() => void>()
  const tell = (): void => {
    for (const each of [...listeners]) each()
  }

  return {
    questions,
    notifications,
    withdrawn,
    lost,
    /** Resolves when `is` holds; looked at whenever something is heard. */
    when: (is: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!is()) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
      }),
    holder: {
      question(request: IncomingRequest, own: boolean) {
        questions.push({ request, own })
        tell()
      },
      notification(notification: IncomingNotification, own: boolean) {
        notifications.push({ notification, own })
        tell()
      },
      withdrawn(id: string) {
        withdrawn.push(id)
        tell()
      },
      lost(error: GatewayError) {
        lost.push(error)
        tell()
      },
    },
  }
}

function startCall(session: Session, id: number, method: string, params: object) {
  const ears = createEars()
  let endings = 0
  let end: (outcome: IncomingResponse | CallFailure) => void
  const outcome = new Promise<IncomingResponse | CallFailure>((resolve) => {
    end = resolve
  })
  const ended = (what: IncomingResponse | CallFailure): void => {
    endings += 1
    expect(endings).toBe(1)
    end(what)
  }
  const sink: CallSink = { ...ears.holder, response: ended, failed: ended }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  const call = session.call(id, body, { authorization: 'Bearer a' }, sink)
  return {
    ears,
    drop: call.drop,
    /** The response as JSON. */
    async response(): Promise<unknown> {
      const what = await outcome
      if (!('text' in what)) throw what.error
      return JSON.parse(what.text.toString())
    },
    async failure(): Promise<CallFailure> {
      const what = await outcome
      if ('text' in what) throw new Error(`a response: ${what.text.toString()}`)
      return what
    },
  }
}
