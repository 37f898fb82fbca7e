import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Caller } from '../mcp/request.ts'
import type { Keyring } from './keyring.ts'
import { createSeal, SealError, type SealReason } from './seal.ts'

/** What a request state says, sealed (design §7). */
export interface RequestState {
  readonly exchange: string
  readonly round: number
  /** Boot id of the process that holds the exchange. */
  readonly owner: string
  readonly route: string
  readonly revision: string
  readonly method: string
  /** Of the request's parameters, in canonical form. */
  readonly digest: Buffer
  /** Wall-clock milliseconds. */
  readonly deadline: number
}

/** What a request that brings a state must agree with. */
export interface Expected {
  readonly route: string
  readonly caller: Caller
  readonly method: string
  readonly digest: () => Buffer
}

export interface RequestStates {
  seal(state: RequestState, caller: Caller): string
  /** Whether it is one of ours, rather than of a server that makes its own. */
  claims(text: string): boolean
  /** @throws GatewayError `state_rejected`, the same outwardly for every reason (M-MRTR-07) */
  open(text: string, expected: Expected): RequestState
}

type Reason =
  | SealReason
  | 'shape'
  | 'expired'
  | 'future'
  | 'route'
  | 'principal_changed'
  | 'method'
  | 'digest'

/** How far the clocks of two replicas may be apart. */
const MAX_SKEW_MS = 60_000

const sealed = z.tuple([
  z.string(), // exchange
  z.number().int().min(1), // round
  z.string(), // owner
  z.string(), // route
  z.string(), // revision
  z.string(), // method
  z.base64(), // digest
  z.base64(), // principal
  z.number(), // issued
  z.number(), // deadline
])

/**
 * The codec of request states: bound to caller, route, method and parameters, and to a deadline (mrtr §Server
 * Requirements). Who owns the exchange is returned, not judged.
 */
export function createRequestStates({ keyring, clock }: { keyring: Keyring; clock: Clock }): RequestStates {
  const box = createSeal(keyring, 'request state')

  function read(text: string): { kid: string; fields: z.output<typeof sealed> } {
    try {
      const { kid, plain } = box.open(text)
      return { kid, fields: sealed.parse(JSON.parse(plain.toString())) }
    } catch (error) {
      // What was opened is of our own making, so another shape is another version's.
      throw rejected(error instanceof SealError ? error.reason : 'shape')
    }
  }

  return {
    seal(state, caller) {
      const { exchange, round, owner, route, revision, method, digest, deadline } = state
      return box.seal((kid) => {
        const principal = caller.principalFor(kid).toString('base64')
        const fields: z.input<typeof sealed> = [
          exchange,
          round,
          owner,
          route,
          revision,
          method,
          digest.toString('base64'),
          principal,
          clock.wall(),
          deadline,
        ]
        return Buffer.from(JSON.stringify(fields))
      })
    },

    claims: box.claims,

    open(text, expected) {
      const { kid, fields } = read(text)
      const [exchange, round, owner, route, revision, method, digest, principal, issued, deadline] = fields
      const now = clock.wall()
      if (now > deadline) throw rejected('expired')
      if (issued > now + MAX_SKEW_MS) throw rejected('future')
      if (route !== expected.route) throw rejected('route')
      if (!equal(principal, expected.caller.principalFor(kid))) throw rejected('principal_changed')
      if (method !== expected.method) throw rejected('method')
      if (!equal(digest, expected.digest())) throw rejected('digest')
      return {
        exchange,
        round,
        owner,
        route,
        revision,
        method,
        digest: Buffer.from(digest, 'base64'),
        deadline,
      }
    },
  }
}

function equal(given: string, expected: Buffer): boolean {
  const bytes = Buffer.from(given, 'base64')
  return bytes.length === expected.length && timingSafeEqual(bytes, expected)
}

function rejected(inner: Reason): GatewayError {
  return new GatewayError(
    'state_rejected',
    'the request state is not valid for this request, or has expired: start the call again',
    { inner },
  )
}
