import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { canonicalDigest } from '../mcp/canonical.ts'
import { canAsk, reduce } from '../mcp/capabilities.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import type { Answer, Caller, ModernRequest } from '../mcp/request.ts'
import { at, type Value } from '../mcp/scan.ts'
import type { RouteOptions } from '../options/schema.ts'
import type { RequestStates } from '../token/requestState.ts'
import { createLogLevel } from '../upstream/logLevel.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { digestOf, readEntries } from './asked.ts'
import { type Exchange, startExchange } from './exchange.ts'
import { transition } from './machine.ts'
import { nameOf } from './name.ts'
import type { Outcomes, Remembered } from './outcomes.ts'
import type { Round } from './state.ts'
import { wantOf } from './wantOf.ts'

export interface ExchangesOptions {
  readonly route: RouteOptions
  readonly upstream: Upstream
  readonly clock: Clock
  readonly states: RequestStates
  readonly bootId: string
  readonly outcomes: Outcomes
  /** Callers without credentials share sessions. */
  readonly shareAnonymous: boolean
}

export interface ServeSettings {
  /** The method has rounds (M-MRTR-02); others are forwarded as they are. */
  readonly rounds: boolean
  /** Sees the upstream's result, if it is one that passes. */
  readonly onResult?: (response: IncomingResponse) => void
}

/** The running and waiting exchanges of one route. */
export interface Exchanges {
  /** Serves a request: a new exchange, or the retry of one. */
  serve(request: ModernRequest, answer: Answer, settings: ServeSettings): void
  counts(): { readonly exchanges: number; readonly suspended: number; readonly legs: number }
  /** From now on new exchanges are refused; retries are still served. */
  drain(): void
  /** Resolves when none is left. */
  idle(): Promise<void>
  /** Ends what is left, and resolves when every lease is given back. */
  close(): Promise<void>
}

const KNOWN_ASKERS = 10_000

/** Builds the register of a route's exchanges. */
export function createExchanges(options: ExchangesOptions): Exchanges {
  const { route, clock, upstream, states, bootId, outcomes } = options
  const { exchange: limits } = route
  const live = new Set<Exchange>()
  /** Those that a request state may name. */
  const byId = new Map<string, Exchange>()
  const releasing = new Set<Promise<void>>()
  const suspended = new Map<string, number>()
  /** Tools that asked before: names are bounded, and forgetting one is harmless. */
  const askers = new LRUCache<string, true>({ max: KNOWN_ASKERS })
  /** Only methods with rounds can ask the client to come back. */
  const unheld = { ...limits, holdMs: 0 }
  const needLogLevel = createLogLevel(clock)
  let suspendedInAll = 0
  let draining = false
  const whenIdle: (() => void)[] = []

  function serve(request: ModernRequest, answer: Answer, settings: ServeSettings): void {
    try {
      const state = settings.rounds ? at(request.root, 'params', 'requestState') : undefined
      if (state === undefined) start(request, answer, settings)
      else resume(request, answer, state)
    } catch (error) {
      answer.fail(error)
    }
  }

  function start(request: ModernRequest, answer: Answer, { rounds, onResult }: ServeSettings): void {
    if (draining) throw new GatewayError('draining', 'the gateway is shutting down')
    const { caller, envelope } = request
    const mayAsk = rounds && canAsk(reduce(envelope.capabilities))
    const asker = mayAsk ? `${request.method} ${nameOf(request) ?? ''}` : undefined
    if (asker !== undefined && askers.has(asker)) refuseFull(caller.principal)

    const want = wantOf(route, request, options.shareAnonymous)
    // Most calls have no rounds and need no name.
    let id: string | undefined
    const named = (): string => {
      if (id === undefined) {
        id = randomBytes(16).toString('base64url')
        if (exchange !== undefined) byId.set(id, exchange)
      }
      return id
    }
    let over = false
    let exchange: Exchange | undefined
    exchange = startExchange(
      {
        upstream,
        clock,
        limits: rounds ? limits : unheld,
        want,
        // Logs on a shared stream belong to nobody, so who asks for them leases too (M-LOG-01).
        exclusive: mayAsk || want.once || (rounds && envelope.logLevel !== undefined),
        mayAsk,
        rounds,
        requestTimeoutMs: route.upstream.requestTimeoutMs,
        maxTimeoutMs: route.upstream.maxTimeoutMs,
        hints: { ttlMs: route.cache.ttlMs, cacheScope: route.cache.scope },
        setLogLevel: (session, level, credentials) =>
          needLogLevel(session, upstream.nextId(), level, credentials),
        seal: (round, first, sender) => seal(named(), round, first, sender),
        onResult,
        onSuspended: (yes) => count(caller.principal, yes ? 1 : -1),
        onAsked() {
          if (asker !== undefined) askers.set(asker, true)
        },
        onEnd(kept) {
          over = true
          if (exchange !== undefined) live.delete(exchange)
          if (live.size === 0) for (const tell of whenIdle.splice(0)) tell()
          if (id === undefined) return
          byId.delete(id)
          if (kept !== undefined) outcomes.keep(id, { ...kept, principal: caller.principal })
        },
      },
      request,
      answer,
    )
    // A client that was gone already has ended it by now.
    if (!over) live.add(exchange)
    const released: Promise<void> = exchange.released.finally(() => releasing.delete(released))
    releasing.add(released)
  }

  function resume(request: ModernRequest, answer: Answer, state: Value): void {
    const opened = states.open(
      state.kind === 'string' ? JSON.parse(request.text.toString('utf8', state.start, state.end)) : '',
      {
        route: route.path,
        caller: request.caller,
        method: request.method,
        digest: () => digestOfParams(request),
      },
    )
    const found = opened.owner === bootId ? byId.get(opened.exchange) : undefined
    if (found !== undefined) {
      found.retry(request, answer, opened.round)
      return
    }
    const remembered = opened.owner === bootId ? outcomes.get(opened.exchange) : undefined
    if (remembered === undefined) {
      throw new GatewayError('exchange_lost', 'the call that this request state belongs to is over')
    }
    repeat(remembered, request, answer, opened.round)
  }

  /** The same retry after the end gets the same outcome (design §5.6). */
  function repeat(remembered: Remembered, request: ModernRequest, answer: Answer, round: number): void {
    const digest = digestOf(readEntries(request, remembered.keys))
    const [, effects] = transition(
      remembered.state,
      { on: 'retry', leg: 0, round, digest, accepted: [], now: clock.now() },
      limits,
    )
    for (const effect of effects) {
      if (effect.do === 'fail') answer.fail(effect.error)
      else if (effect.do === 'reply') {
        const { outcome } = effect
        if (outcome.kind === 'error') answer.fail(outcome.error)
        else answer.end([outcome.head, request.id, outcome.tail], outcome.status)
      }
    }
  }

  function seal(id: string, round: Round, first: ModernRequest, caller: Caller): string {
    const ttlMs = round.shown.length > 0 ? limits.inputTtlMs : limits.holdTtlMs
    return states.seal(
      {
        exchange: id,
        round: round.number,
        owner: bootId,
        route: route.path,
        revision: first.envelope.version,
        method: first.method,
        digest: digestOfParams(first),
        deadline: clock.wall() + ttlMs,
      },
      caller,
    )
  }

  /** When the house is full, who is known to ask is refused before anything ran (design §5.9). */
  function refuseFull(principal: string): void {
    if (suspendedInAll >= limits.maxSuspended) {
      throw new GatewayError('overloaded', `${limits.maxSuspended} calls already wait for their clients`)
    }
    if ((suspended.get(principal) ?? 0) >= limits.maxSuspendedPerPrincipal) {
      const message = `${limits.maxSuspendedPerPrincipal} calls of this caller already wait`
      throw new GatewayError('overloaded', message, { ownLimit: true })
    }
  }

  function count(principal: string, by: 1 | -1): void {
    suspendedInAll += by
    const now = (suspended.get(principal) ?? 0) + by
    if (now > 0) suspended.set(principal, now)
    else suspended.delete(principal)
  }

  return {
    serve,
    counts() {
      let legs = 0
      for (const exchange of live) legs += exchange.legs()
      return { exchanges: live.size, suspended: suspendedInAll, legs }
    },
    drain() {
      draining = true
    },
    idle() {
      if (live.size === 0) return Promise.resolve()
      return new Promise((resolve) => void whenIdle.push(resolve))
    },
    async close() {
      draining = true
      const error = new GatewayError('draining', 'the gateway is shutting down')
      for (const exchange of live) exchange.drain(error)
      await Promise.all(releasing)
    },
  }
}

function digestOfParams({ text, root }: ModernRequest): Buffer {
  const params = at(root, 'params')
  return canonicalDigest(text, params, ['_meta', 'inputResponses', 'requestState'])
}
