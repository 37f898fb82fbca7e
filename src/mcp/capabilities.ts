import { isRecord } from './isRecord.ts'
import { extensions as known } from './meta.ts'
import { knows, LATEST_LEGACY } from './revision.ts'

export { discoverResult, serverInfoOf } from './discoverResult.ts'

/** What a client can be asked, as far as it matters upstream; sessions are pooled by it (design §4.1). */
export interface Capabilities {
  readonly form: boolean
  readonly url: boolean
  readonly sampling: boolean
  readonly samplingTools: boolean
  readonly samplingContext: boolean
  readonly roots: boolean
  /** The extensions of the allow-list that the client declared: one JSON text for equal declarations. */
  readonly extensions: string
}

/** Everything that can be asked, for routes that leave the refusing to us (design §4.11). */
export const allCapabilities: Capabilities = {
  form: true,
  url: true,
  sampling: true,
  samplingTools: true,
  samplingContext: true,
  roots: true,
  extensions: '{}',
}

/** Reduces the capabilities that a request declares; what is not named here goes nowhere (X-CAP-11, X-CAP-13). */
export function reduce(declared: Readonly<Record<string, unknown>>): Capabilities {
  const { elicitation, sampling, roots, extensions } = declared
  const url = isRecord(elicitation) && isRecord(elicitation.url)
  return {
    // `{}` means form, and so does anything that names no mode we know; `{url: {}}` alone does not (M-ELI-01).
    form: isRecord(elicitation) && (isRecord(elicitation.form) || !url),
    url,
    sampling: isRecord(sampling),
    samplingTools: isRecord(sampling) && isRecord(sampling.tools),
    samplingContext: isRecord(sampling) && isRecord(sampling.context),
    roots: isRecord(roots),
    extensions: JSON.stringify(sorted(isRecord(extensions) ? allowed(extensions) : {})),
  }
}

/** Equal exactly for equal capabilities. */
export function capabilityKey(capabilities: Capabilities): string {
  const { form, url, sampling, samplingTools, samplingContext, roots, extensions } = capabilities
  const bits = [form, url, sampling, samplingTools, samplingContext, roots].map((has) => (has ? '1' : '0'))
  return bits.join('') + extensions
}

/** Its calls may be interrupted by a question, so they need a session of their own (design §4.2). */
export function canAsk({ form, url, sampling, roots }: Capabilities): boolean {
  return form || url || sampling || roots
}

/**
 * What `initialize` declares to an upstream of `revision`, or of one not yet known (X-CAP-17).
 *
 * | row | member | to 2025-03-26 | 2025-06-18 | 2025-11-25 |
 * |---|---|---|---|---|
 * | X-CAP-08 | roots | `{}` | `{}` | `{}` |
 * | X-CAP-09 | sampling | `{}` | `{}` | with context, tools |
 * | X-CAP-10 | elicitation | – | `{}` if it has form | form alone as `{}`, else the modes |
 * | X-CAP-12 | extensions | allow-list | allow-list | allow-list |
 */
export function initializeCapabilities(
  capabilities: Capabilities,
  revision: string = LATEST_LEGACY,
): Record<string, object> {
  const { form, url, sampling, samplingTools, samplingContext, roots, extensions } = capabilities
  const to = knows(revision)
  const members: Record<string, object> = {}
  if (to.elicitation === 'plain' && form) members.elicitation = {}
  if (to.elicitation === 'modes' && (form || url)) {
    members.elicitation = url ? { ...(form && { form: {} }), url: {} } : {}
  }
  if (sampling) {
    members.sampling = to.samplingMembers
      ? { ...(samplingContext && { context: {} }), ...(samplingTools && { tools: {} }) }
      : {}
  }
  if (roots) members.roots = {}
  if (extensions !== '{}') members.extensions = JSON.parse(extensions) as object
  return members
}

/** What the second attempt declares, to an upstream that refused the first for its members (design §4.7). */
export function minimalCapabilities({ form, url, sampling, roots }: Capabilities): Record<string, object> {
  return {
    ...((form || url) && { elicitation: {} }),
    ...(sampling && { sampling: {} }),
    ...(roots && { roots: {} }),
  }
}

/** The allow-list: what passes unchanged in both directions (M-VER-04). */
function allowed(extensions: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const ui = Object.hasOwn(extensions, known.ui) ? extensions[known.ui] : undefined
  return isRecord(ui) ? { [known.ui]: ui } : {}
}

/** The same value with members in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]))
}
