import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { type Capabilities, initializeCapabilities, minimalCapabilities } from '../mcp/capabilities.ts'
import { type Incoming, type IncomingResponse, readMessages } from '../mcp/message.ts'
import { LATEST_LEGACY, type LegacyRevision } from '../mcp/revision.ts'
import { at, parsed, textOf } from '../mcp/scan.ts'
import { version } from '../version.ts'
import type { Channel } from './channel.ts'
import type { Refused } from './post.ts'
import type { Handshake, Headers } from './session.ts'
import { refusal } from './sseChannel.ts'

/** `initialize` met a status that may mean another transport (M-HTTP-16). */
export class InitializeRefused extends Error {
  readonly refused: Refused

  constructor(refused: Refused) {
    super(`the upstream answered ${refused.status} to initialize`)
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
  readonly clock: Clock
  readonly timeoutMs: number
  /** Where messages on the shared stream are handed in. */
  readonly early: { take: (message: Incoming) => void }
}

/**
 * Negotiates: the newest legacy revision first, once more with the best the upstream names or with the
 * smallest set of capabilities if it refuses (L-LIF-01…03, design §4.7).
 *
 * @throws InitializeRefused, UpstreamRefusal, GatewayError
 */
export async function initialize(options: InitializeOptions): Promise<Handshake> {
  const offered = options.known ?? LATEST_LEGACY
  const first = await ask(options, offered, initializeCapabilities(options.capabilities, offered))
  if (first.ok) return handshake(first)
  const revision = named(first) ?? offered
  const second = await ask(options, revision, minimalCapabilities(options.capabilities))
  if (second.ok) return handshake(second)
  const message = at(second.root, 'error', 'message')
  const said = message === undefined ? '' : `: ${String(parsed(second.text, message)).slice(0, 200)}`
  throw new GatewayError('upstream_protocol', `the upstream refused to initialize${said}`)
}

function ask(options: InitializeOptions, revision: string, capabilities: object): Promise<IncomingResponse> {
  const { channel, clock, early } = options
  const id = options.nextId()
  const body = Buffer.from(
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities, clientInfo: { name: 'mrtr-proxy', version } },
    }),
  )
  return new Promise((resolve, reject) => {
    const later = early.take
    const fail = (error: Error): void => {
      done()
      post.abort()
      reject(error)
    }
    const stop = clock.after(options.timeoutMs, () =>
      fail(
        new GatewayError(
          'upstream_timeout',
          `the upstream did not answer initialize within ${options.timeoutMs} ms`,
        ),
      ),
    )
    const done = (): void => {
      stop()
      early.take = later
    }
    const take = (message: Incoming, own: boolean): void => {
      const ours = message.kind === 'response' && (own || Number(message.id?.toString('latin1')) === id)
      if (!ours) return later(message)
      done()
      resolve(message)
    }
    early.take = (message) => take(message, false)
    const none = (): void => {
      if (channel.kind === 'streamable-http') {
        fail(
          new GatewayError(
            'upstream_protocol',
            'the upstream ended its response without answering initialize',
          ),
        )
      }
    }
    const post = channel.post(body, options.credentials, {
      message: (message) => take(message, true),
      accepted: none,
      ended: none,
      refused(refused) {
        const response = errorIn(refused)
        const unauthorized = refusal(refused)
        if (unauthorized === undefined && response !== undefined) take(response, true)
        else fail(unauthorized ?? new InitializeRefused(refused))
      },
      failed: fail,
    })
  })
}

function errorIn({ status, body }: Refused): IncomingResponse | undefined {
  if (status !== 400) return undefined
  try {
    const [message] = readMessages(body)
    return message?.kind === 'response' && !message.ok ? message : undefined
  } catch {
    return undefined
  }
}

/** Newest first. */
const REVISIONS: readonly LegacyRevision[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

const isLegacy = (revision: unknown): revision is LegacyRevision =>
  REVISIONS.some((each) => each === revision)

/** The best revision that an error names, in its data or its text. */
function named(response: IncomingResponse): LegacyRevision | undefined {
  const error = at(response.root, 'error')
  const text = error === undefined ? '' : textOf(response.text, error).toString()
  return REVISIONS.find((revision) => text.includes(revision))
}

function handshake({ text, root }: IncomingResponse): Handshake {
  const result = at(root, 'result')
  const value: unknown = result === undefined ? undefined : parsed(text, result)
  if (result === undefined || !isRecord(value))
    throw new GatewayError('upstream_protocol', 'initialize has no result')
  const revision = value.protocolVersion
  if (!isLegacy(revision)) {
    throw new GatewayError(
      'upstream_protocol',
      `the upstream speaks revision ${JSON.stringify(revision)}, which is not served`,
    )
  }
  const info = value.serverInfo
  const identified = isRecord(info) && typeof info.name === 'string' && typeof info.version === 'string'
  return {
    revision,
    result: Buffer.from(textOf(text, result)),
    capabilities: isRecord(value.capabilities) ? value.capabilities : {},
    serverInfo: identified ? Buffer.from(JSON.stringify(info)) : undefined,
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
