import type { IncomingMessage, ServerResponse } from 'node:http'
import { idOf, requestShape } from '../mcp/jsonrpc.ts'
import { at, scan, stringOf } from '../mcp/scan.ts'
import type { RequestStates } from '../token/requestState.ts'
import type { Era } from '../upstream/era.ts'
import type { Passthrough } from './passthrough.ts'

/** A POST of a modern client that passed the guard, its body read. */
export interface ModernPost {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly text: Buffer
  /** What the client shows the upstream, lower-case names. */
  readonly credentials: () => Readonly<Record<string, string>>
  /** Serves it by what a legacy upstream can, or does `instead` if that is found to be none; does not throw. */
  readonly translate: (instead?: () => void) => void
}

/** Modern clients of a route whose upstream may be modern by now. */
export interface Upgraded {
  /** @throws ScanError for a body that cannot be read */
  serve(post: ModernPost): void | Promise<void>
}

export interface UpgradedOptions {
  readonly era: Era
  readonly passthrough: Passthrough
  readonly states: RequestStates
}

/** Names that differ from ours by case alone are the upstream's affair. */
const SCAN = { strict: true, maxDepth: 64 }
/** Statuses by which a legacy server refuses what it does not know, and a modern one too. */
const DOUBTFUL = [400, 404, 405]

/**
 * Lets modern clients use a modern upstream as if we were not there, and has the others translated (design §9).
 * What is refused in a way that a legacy server would is held until the upstream was asked for its era anew, so
 * that one that was exchanged costs nobody a call: what it refused so did not run.
 *
 * Calls that were suspended before the upstream was upgraded come back with a request state of ours: those are
 * finished where they wait.
 */
export function createUpgraded({ era, passthrough, states }: UpgradedOptions): Upgraded {
  function pass({ request, response, text, credentials, translate }: ModernPost): void {
    const root = scan(text, requestShape, SCAN)
    const state = stringOf(text, at(root, 'params', 'requestState'))
    // The upstream may be a proxy of this kind itself, with keys of its own.
    if (state !== undefined && states.claims(state)) {
      translate()
      return
    }
    const id = idOf(text, root)
    passthrough.pass({
      request,
      response,
      verb: 'POST',
      body: text,
      begins: id !== undefined && state === undefined,
      listens: stringOf(text, at(root, 'method')) === 'subscriptions/listen',
      id,
      watch: {
        fits({ statusCode = 0, headers }) {
          if (DOUBTFUL.includes(statusCode)) return era.again(credentials).then((now) => now === 'modern')
          // Modern servers have no sessions (M-HTTP-14).
          if (headers['mcp-session-id'] !== undefined) void era.again(credentials)
          return true
        },
        instead: () => translate(),
        lost: era.doubt,
      },
    })
  }

  function decided(now: 'legacy' | 'modern', post: ModernPost): void {
    if (now === 'modern') pass(post)
    else post.translate(() => pass(post))
  }

  return {
    serve(post) {
      const now = era.of(post.credentials)
      if (typeof now === 'string') decided(now, post)
      else return now.then((known) => decided(known, post))
    },
  }
}
