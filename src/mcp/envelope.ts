import { ProtocolError } from '../errors.ts'
import { isRecord } from './isRecord.ts'
import { logLevels } from './logLevel.ts'
import { meta } from './meta.ts'
import type { Envelope } from './request.ts'
import { at, parsed, stringOf, textOf, type Value } from './scan.ts'

/**
 * Reads what a request's `_meta` declares (basic §_meta).
 *
 * @throws ProtocolError -32602 that names the member (M-BASE-14, -15, M-PRG-05, M-LOG-02)
 */
export function readEnvelope(text: Buffer, root: Value): Envelope {
  const own = at(root, 'params', '_meta')
  if (own?.kind !== 'object') throw invalid('params._meta must be an object')
  const version = stringOf(text, at(own, meta.protocolVersion))
  if (version === undefined) throw invalid(`params._meta["${meta.protocolVersion}"] must be a string`)
  const declared = at(own, meta.clientCapabilities)
  const capabilities = declared && parsed(text, declared)
  if (!isRecord(capabilities)) throw invalid(`params._meta["${meta.clientCapabilities}"] must be an object`)
  checkCapabilities(capabilities)
  const info = at(own, meta.clientInfo)
  if (info !== undefined && !identifies(parsed(text, info))) {
    throw invalid(`params._meta["${meta.clientInfo}"] must have a name and a version`)
  }
  return {
    version,
    capabilities,
    logLevel: levelOf(text, at(own, meta.logLevel)),
    progressToken: tokenOf(text, at(own, 'progressToken')),
  }
}

/** Members of a capability that are objects where they are declared; others pass unseen. */
const DECLARED: Readonly<Record<string, readonly string[]>> = {
  elicitation: ['form', 'url'],
  sampling: ['tools', 'context'],
  roots: [],
  extensions: [],
  experimental: [],
}

/** A declaration of a wrong kind could be read as one or as none: it is refused. */
function checkCapabilities(capabilities: Readonly<Record<string, unknown>>): void {
  for (const [name, members] of Object.entries(DECLARED)) {
    const declared = capabilities[name]
    if (declared === undefined) continue
    if (!isRecord(declared)) throw notAnObject(name)
    for (const member of members) {
      if (declared[member] !== undefined && !isRecord(declared[member]))
        throw notAnObject(`${name}.${member}`)
    }
  }
}

const notAnObject = (path: string): ProtocolError =>
  invalid(`params._meta["${meta.clientCapabilities}"].${path} must be an object`)

function levelOf(text: Buffer, value: Value | undefined): string | undefined {
  if (value === undefined) return undefined
  const level = logLevels.find((each) => each === stringOf(text, value))
  if (level === undefined)
    throw invalid(`params._meta["${meta.logLevel}"] must be one of ${logLevels.join(', ')}`)
  return level
}

function tokenOf(text: Buffer, value: Value | undefined): Buffer | undefined {
  if (value === undefined) return undefined
  const bytes = textOf(text, value)
  if (value.kind === 'string' || (value.kind === 'number' && /^-?\d+$/.test(bytes.toString('latin1'))))
    return bytes
  throw invalid('params._meta.progressToken must be a string or an integer')
}

function identifies(info: unknown): boolean {
  return isRecord(info) && typeof info.name === 'string' && typeof info.version === 'string'
}

const invalid = (message: string): ProtocolError => new ProtocolError(-32602, message)
