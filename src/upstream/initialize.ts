import { GatewayError } from '../errors.ts'
import { type Capabilities, initializeCapabilities, minimalCapabilities } from '../mcp/capabilities.ts'
import type { Incoming, IncomingResponse } from '../mcp/message.ts'
import { LATEST_LEGACY } from '../mcp/revision.ts'
import { at, parsed, textOf } from '../mcp/scan.ts'
import { version } from '../version.ts'
import type { Channel, Headers } from './channel.ts'
import { errorIn, idOf, refusal } from './failure.ts'
import { type Handshake, namedRevision, readHandshake } from './handshake.ts'
import type { Refused } from './post.ts'

/** `initialize` met a status that may mean another transport (M-HTTP-16). */
export class InitializeRefused extends Error {
  readonly refused: Refused

  constructor(refused: Refused) {
    const said = messageOf(errorIn(refused))
    super(`the upstream answered ${refused.status} to initialize${said}`)
    this.refused = refused
  }
}

export interface InitializeOptions {
  readonly channel: Channel
  readonly capabilities: Capabilities
  /** The revision this upstream settled on before, if known (X-CAP-17). */
  readonly known: string | undefined
  readonly credentials: Headers
  readonly nextId: () => number
  /** Where messages on the shared stream are handed in. */
  readonly early: { take: (message: Incoming) => void }
}

/** What one attempt drew: a response, or a status other than 2xx. */
type Drawn = { readonly response: IncomingResponse } | { readonly refused: Refused }

/**
 * Negotiates: the newest legacy revision first, once more with the best the upstream names or with the
 * smallest set of capabilities if it refuses (L-LIF-01…03, design §4.7). The signal, which says that the
 * opening is over, also closes a POST that the upstream keeps open after its response.
 *
 * @throws InitializeRefused, UpstreamRefusal, GatewayError, the signal's reason
 */
export async function initialize(options: InitializeOptions, signal: AbortSignal): Promise<Handshake> {
  const offered = options.known ?? LATEST_LEGACY
  const first = await ask(options, offered, initializeCapabilities(options.capabilities, offered), signal)
  if ('response' in first && first.response.ok) return readHandshake(first.response)
  const named = namedRevision(textIn(first))
  // A status alone, without a word on revisions, speaks of the transport.
  if ('refused' in first && named === undefined && errorIn(first.refused) === undefined) {
    throw new InitializeRefused(first.refused)
  }
  const second = await ask(options, named ?? offered, minimalCapabilities(options.capabilities), signal)
  if ('refused' in second) throw new InitializeRefused(second.refused)
  if (second.response.ok) return readHandshake(second.response)
  throw new GatewayError(
    'upstream_protocol',
    `the upstream refused to initialize${messageOf(second.response)}`,
  )
}

function ask(
  { channel, credentials, nextId, early }: InitializeOptions,
  revision: string,
  capabilities: object,
  signal: AbortSignal,
): Promise<Drawn> {
  const id = nextId()
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: { protocolVersion: revision, capabilities, clientInfo: { name: 'mrtr-proxy', version } },
  })
  return new Promise((resolve, reject) => {
    const later = early.take
    const done = (): void => {
      early.take = later
    }
    const drawn = (what: Drawn): void => {
      done()
      resolve(what)
    }
    const fail = (error: unknown): void => {
      done()
      post.abort()
      reject(error)
    }
    const aborted = (): void => fail(signal.reason)
    const take = (message: Incoming, own: boolean): void => {
      if (message.kind === 'response' && (own || idOf(message) === id)) drawn({ response: message })
      else later(message)
    }
    early.take = (message) => take(message, false)
    const nothing = (): void => {
      // On HTTP+SSE the response comes on the other stream.
      if (channel.kind === 'http+sse') return
      const message = 'the upstream ended its response without answering initialize'
      fail(new GatewayError('upstream_protocol', message))
    }
    const post = channel.call(Buffer.from(body), credentials, {
      message: (message, streamed) => take(message, !streamed),
      accepted: nothing,
      ended: nothing,
      refused(refused) {
        const unauthorized = refusal(refused)
        if (unauthorized === undefined) drawn({ refused })
        else fail(unauthorized)
      },
      failed: fail,
    })
    if (signal.aborted) aborted()
    else signal.addEventListener('abort', aborted, { once: true })
  })
}

/** What an attempt's answer says, as far as it may name revisions. */
function textIn(drawn: Drawn): string {
  if ('refused' in drawn) return drawn.refused.body.toString('latin1')
  const error = at(drawn.response.root, 'error')
  return error === undefined ? '' : textOf(drawn.response.text, error).toString('latin1')
}

function messageOf(response: IncomingResponse | undefined): string {
  const message = response && at(response.root, 'error', 'message')
  return message === undefined || response === undefined
    ? ''
    : `: ${String(parsed(response.text, message)).slice(0, 200)}`
}
