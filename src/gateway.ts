import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createAnnotations } from './catalog/annotations.ts'
import { askForTools } from './catalog/askForTools.ts'
import { createCompletes } from './catalog/completes.ts'
import { type Clock, createClock } from './clock.ts'
import { ProtocolError } from './errors.ts'
import { createExchanges } from './exchange/exchanges.ts'
import { createOutcomes } from './exchange/outcomes.ts'
import { createAdmin } from './http/admin.ts'
import { isLoopback } from './http/loopback.ts'
import { createPassthrough, type Passthrough } from './http/passthrough.ts'
import { createDoor } from './http/server.ts'
import { createUpgraded, type Upgraded } from './http/upgraded.ts'
import { createListeners } from './listen/listeners.ts'
import type { Answer, ModernRequest } from './mcp/request.ts'
import { methods, type RouteHouse } from './methods.ts'
import { createLog, type Log } from './observe/log.ts'
import type { Options, RouteOptions } from './options/schema.ts'
import { createIdentify } from './token/identity.ts'
import { createKeyring } from './token/keyring.ts'
import { createRequestStates } from './token/requestState.ts'
import { createUpstream } from './upstream/upstream.ts'

/** What a closed gateway still holds; all zero, or something leaks. */
export interface Counts {
  readonly sessions: number
  readonly exchanges: number
  readonly legs: number
  readonly sockets: number
  readonly timers: number
}

export interface Gateway {
  /** Opens the listeners. @throws the error of `net.Server.listen`, such as EADDRINUSE */
  listen(): Promise<{ readonly port: number; url(path: string): string }>
  /** Serves one request of a server that is not ours. */
  handle(request: IncomingMessage, response: ServerResponse): void
  counts(): Counts
  /** Reads the keys again. */
  reload(): void
  /** Takes no new calls, lets the rest finish or be answered for `http.drainMs`, then closes. */
  drain(): Promise<Counts>
  /** Ends everything now: waiting calls are cancelled upstream, sessions ended. */
  close(): Promise<Counts>
}

export interface GatewayDeps {
  readonly log?: Log
  readonly clock?: Clock
}

/** Builds the gateway that `options` describe; nothing is opened before `listen`. */
export function createGateway(options: Options, deps: GatewayDeps = {}): Gateway {
  const log = deps.log ?? createLog('silent')
  const clock = deps.clock ?? createClock()
  const bootId = randomBytes(16).toString('base64url')
  const keyring = createKeyring(options.requestState)
  if (keyring.ephemeral) log.info('no keys are set: request states end with this process')
  const states = createRequestStates({ keyring, clock })
  const outcomes = createOutcomes(() => clock.now())
  const houses = new Map<string, RouteHouse>(options.routes.map((route) => [route.path, house(route)]))
  const passthroughs = new Map<string, Passthrough>()
  const upgrades = new Map<string, Upgraded>()
  for (const { route, upstream } of houses.values()) {
    const { legacyClients } = route
    const { era } = route.upstream
    if (legacyClients === 'refuse' && era === 'legacy') continue
    const passthrough = createPassthrough({ route, keyring, log, clock })
    passthroughs.set(route.path, passthrough)
    if (era !== 'legacy') upgrades.set(route.path, createUpgraded({ era: upstream.era, passthrough, states }))
  }
  const passthroughFor = ({ path, legacyClients }: RouteOptions) =>
    legacyClients === 'pass' ? passthroughs.get(path) : undefined
  const upgradedFor = ({ path }: RouteOptions) => upgrades.get(path)
  const door = createDoor({ options, identifyFor, serve, passthroughFor, upgradedFor, log, clock })
  const admin =
    options.admin === 'off' ? undefined : createAdmin({ listen: options.admin, ready: () => !draining })
  let draining = false
  let closing: Promise<Counts> | undefined

  function house(route: RouteOptions): RouteHouse {
    const upstream = createUpstream(
      route,
      clock,
      () =>
        log.warn(
          { route: route.path },
          'the upstream sends its requests to all sessions: one call at a time can be asked',
        ),
      (era) => {
        log.info({ route: route.path, era }, 'the upstream is of another era')
        // Who listens through a session comes back, and then listens to the upstream itself.
        if (era === 'modern') listeners.end()
      },
    )
    const { anonymous } = route.sessions
    const shareAnonymous = anonymous === 'share' || (anonymous === 'auto' && isLoopback(options.listen))
    const exchanges = createExchanges({ route, upstream, clock, states, bootId, outcomes, shareAnonymous })
    const listeners = createListeners({ route, upstream, clock })
    const annotations = createAnnotations({
      clock,
      askForTools: (request) => askForTools(exchanges, request, annotations.learn),
    })
    const completes = createCompletes(clock)
    return { route, upstream, exchanges, annotations, completes, listeners, shareAnonymous }
  }

  function identifyFor(route: RouteOptions) {
    const from = options.principal.from === 'none' ? 'none' : 'authorization'
    return createIdentify({ keyring, from, forwardHeaders: route.upstream.forwardHeaders })
  }

  function serve(route: RouteOptions, request: ModernRequest, answer: Answer): void | Promise<void> {
    const found = houses.get(route.path)
    const method = methods.get(request.method)
    if (found === undefined || method === undefined) {
      throw new ProtocolError(-32601, `there is no method ${request.method}`, 404)
    }
    return method(found, request, answer)
  }

  function counts(): Counts {
    let sessions = 0
    let exchanges = 0
    let legs = 0
    let sockets = door.sockets()
    for (const each of houses.values()) {
      const up = each.upstream.counts()
      const running = each.exchanges.counts()
      sessions += up.idle + up.leased + up.shared + up.opening + up.closing
      sockets += up.sockets
      exchanges += running.exchanges
      legs += running.legs + each.listeners.count()
    }
    for (const each of passthroughs.values()) sockets += each.sockets()
    return { sessions, exchanges, legs, sockets, timers: clock.pending() }
  }

  async function drain(): Promise<Counts> {
    draining = true
    door.drain()
    const { lameDuckMs, drainMs } = options.http
    if (lameDuckMs > 0) await new Promise<void>((resolve) => void clock.after(lameDuckMs, resolve))
    const all = [...[...houses.values()].map((each) => each.exchanges), ...passthroughs.values()]
    for (const each of all) each.drain()
    for (const each of houses.values()) each.listeners.drain()
    await new Promise<void>((resolve) => {
      const stop = clock.after(drainMs, resolve)
      void Promise.all(all.map((each) => each.idle())).then(() => {
        stop()
        resolve()
      })
    })
    return close()
  }

  function close(): Promise<Counts> {
    draining = true
    closing ??= (async () => {
      door.drain()
      const all = [...houses.values()]
      for (const each of all) each.listeners.close()
      const ended = [...passthroughs.values()].map((each) => each.close())
      await Promise.all([...ended, ...all.map((each) => each.exchanges.close())])
      await Promise.all([door.close(), admin?.close()])
      await Promise.all(all.map((each) => each.upstream.close()))
      return counts()
    })()
    return closing
  }

  return {
    async listen() {
      const address = await door.listen()
      await admin?.listen()
      const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
      return { port: address.port, url: (path) => `http://${host}:${address.port}${path}` }
    },
    handle: door.handle,
    counts,
    reload: () => keyring.reload(),
    drain,
    close,
  }
}
