import type { GatewayError } from '../errors.ts'
import { announces } from '../mcp/change.ts'
import type { Incoming, IncomingNotification, IncomingRequest } from '../mcp/message.ts'
import { at, stringOf, textOf } from '../mcp/scan.ts'
import type { CallSink, Calls, Holder } from './call.ts'
import type { Completions } from './completions.ts'
import type { Outside } from './outside.ts'

export interface RoutingOptions {
  readonly calls: Calls
  readonly completions: Completions
  readonly outside: Outside
  readonly declaresRoots: boolean
  readonly sessionful: () => boolean
  /** Runs later, unless the session is closed by then. */
  readonly after: (ms: number, act: () => void) => void
  readonly onAnnounced: (notification: IncomingNotification) => void
  /** Answers a server request. */
  readonly reply: (id: Buffer, payload: Buffer) => void
}

/** Brings what the upstream says on a session to whom it concerns: a call, the holder, or nobody. */
export function createRouting(options: RoutingOptions) {
  const { calls, completions, outside, declaresRoots, onAnnounced, reply } = options
  const holders = new Set<Holder>()
  let roots: IncomingRequest[] = []

  /** On the response to a call's own POST. */
  function ofCall(message: IncomingRequest | IncomingNotification, own: CallSink): void {
    if (message.kind === 'request') {
      if (!pong(message)) own.question(message, true)
    } else notification(message, own, true)
  }

  /** On such a response whose call is over: the next holder has nothing to do with it. */
  function late(message: IncomingRequest | IncomingNotification): void {
    if (message.kind === 'request') {
      if (!pong(message)) nobody(message)
    } else notification(message, undefined, false)
  }

  /** On the shared stream: it belongs to whoever holds the session, and nothing is guessed (design §4.2). */
  function shared(message: Incoming): void {
    if (message.kind === 'response') calls.respond(message)
    else if (message.kind === 'notification') notification(message, holder(), false)
    else if (!pong(message)) question(message)
  }

  const holder = (): Holder | undefined => (holders.size === 1 ? [...holders][0] : undefined)

  function question(message: IncomingRequest): void {
    const held = holder()
    if (held !== undefined) {
      const alone = outside.unsessioned.size <= 1 || !outside.unsessioned.has(held)
      if (alone && outside.seen(message, held)) held.question(message, false)
      else reply(message.id, UNATTRIBUTED)
    } else if (message.method === 'roots/list' && declaresRoots) keepRoots(message)
    // On a shared session with one call in flight there is no doubt whose question it is (design §4.3).
    else if (holders.size === 0 && calls.size() === 1) calls.alone()?.question(message, false)
    else nobody(message)
  }

  /** They wait for the next lease; but a call that may be waiting for them itself is not kept waiting (X-SRQ-13). */
  function keepRoots(message: IncomingRequest): void {
    roots.push(message)
    if (calls.size() === 0) return
    options.after(KEEP_MS, () => {
      if (calls.size() === 0 || !roots.includes(message)) return
      roots = roots.filter((each) => each !== message)
      reply(message.id, NOT_NOW)
    })
  }

  const nobody = (message: IncomingRequest): void => outside.ask(message, reply)

  function pong(message: IncomingRequest): boolean {
    if (message.method !== 'ping') return false
    reply(message.id, EMPTY_RESULT)
    return true
  }

  function notification(message: IncomingNotification, target: Holder | undefined, own: boolean): void {
    if (announces(message)) onAnnounced(message)
    else if (message.method === 'notifications/cancelled') {
      const id = at(message.root, 'params', 'requestId')
      if (id === undefined) return
      const text = textOf(message.text, id).toString('latin1')
      roots = roots.filter((each) => each.id.toString('latin1') !== text)
      target?.withdrawn(text)
    } else if (message.method === 'notifications/progress') {
      // Ours are the ids of the calls they belong to, so progress finds its call on any stream.
      const token = at(message.root, 'params', 'progressToken')
      const id = token && (stringOf(message.text, token) ?? textOf(message.text, token).toString('latin1'))
      const call = calls.find(Number(id))
      if (!own) calls.progressElsewhere(Number(id))
      call?.notification(message, own && call === target)
    } else if (message.method === 'notifications/elicitation/complete') {
      const id = stringOf(message.text, at(message.root, 'params', 'elicitationId'))
      if (id !== undefined) completions.heard(id)
    } else target?.notification(message, own)
  }

  return {
    ofCall,
    late,
    shared,
    /** Gives what comes on the shared stream to `each`, until the returned function is called. */
    attach(each: Holder): () => void {
      holders.add(each)
      // Such an upstream has one client as far as it knows, however many sessions we opened (design §4.10).
      if (!options.sessionful()) outside.unsessioned.add(each)
      return () => {
        holders.delete(each)
        outside.unsessioned.delete(each)
      }
    },
    takeRoots(): IncomingRequest[] {
      const taken = roots
      roots = []
      return taken
    },
    keepRoots(requests: readonly IncomingRequest[]): void {
      roots.push(...requests)
    },
    lost(error: GatewayError): void {
      for (const each of holders) each.lost(error)
    },
  }
}

/** How long a list may wait for roots that nobody can tell it. */
const KEEP_MS = 1_000
const NOT_NOW = Buffer.from('"error":{"code":-32601,"message":"nobody can be asked during this request"}')
const EMPTY_RESULT = Buffer.from('"result":{}')
const UNATTRIBUTED = Buffer.from('"error":{"code":-32601,"message":"it cannot be told which call asks this"}')
