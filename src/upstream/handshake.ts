import { GatewayError } from '../errors.ts'
import { isRecord } from '../mcp/isRecord.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import type { LegacyRevision } from '../mcp/revision.ts'
import { LEGACY_REVISIONS } from '../mcp/revisions.ts'
import { at, parsed, textOf } from '../mcp/scan.ts'

/** What `initialize` said. */
export interface Handshake {
  readonly revision: string
  /** The InitializeResult's bytes. */
  readonly result: Buffer
  readonly capabilities: Readonly<Record<string, unknown>>
  /** The bytes of `serverInfo` if it has name and version. */
  readonly serverInfo: Buffer | undefined
}

/**
 * Reads an InitializeResult; a revision that we do not speak ends it (L-LIF-02).
 *
 * @throws GatewayError ('upstream_protocol')
 */
export function readHandshake({ text, root }: IncomingResponse): Handshake {
  const result = at(root, 'result')
  const value: unknown = result === undefined ? undefined : parsed(text, result)
  if (result === undefined || !isRecord(value))
    throw new GatewayError('upstream_protocol', 'initialize has no result')
  const revision = value.protocolVersion
  if (!isLegacy(revision)) {
    throw new GatewayError(
      'upstream_protocol',
      `the upstream speaks revision ${JSON.stringify(revision)?.slice(0, 40)}, which is not served`,
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

/** The best revision of ours that a text names. */
export function namedRevision(text: string): LegacyRevision | undefined {
  return LEGACY_REVISIONS.find((revision) => text.includes(revision))
}

const isLegacy = (revision: unknown): revision is LegacyRevision =>
  LEGACY_REVISIONS.some((each) => each === revision)
