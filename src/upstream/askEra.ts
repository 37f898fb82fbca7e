import { codeOf, type IncomingResponse } from '../mcp/message.ts'
import { meta } from '../mcp/meta.ts'
import { SUPPORTED_REVISIONS } from '../mcp/revisions.ts'
import { at, parsed } from '../mcp/scan.ts'
import { version } from '../version.ts'
import { type ChannelOptions, type Headers, POST_HEADERS } from './channel.ts'
import { errorIn } from './failure.ts'
import { exchangeMessages, type Refused } from './post.ts'

/**
 * What one `server/discover` told: an era; `silent`, no answer in time; `refused`, these credentials are not
 * taken; `nothing`, an error that servers of both eras have.
 */
export type Said = 'legacy' | 'modern' | 'silent' | 'refused' | 'nothing'

const ANSWER_WITHIN_MS = 2_000
const [REVISION = ''] = SUPPORTED_REVISIONS
const HEADERS = { ...POST_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': 'server/discover' }

/**
 * Asks the upstream for its era (design §9, case 37): modern only if its `server/discover` lists a revision
 * that is served here, or fails with one of the errors that modern servers alone have (M-VER-07). Takes 2 s
 * at most and never fails.
 */
export function askEra(
  { wire, url, headers, clock }: ChannelOptions,
  id: number,
  by: Headers,
): Promise<Said> {
  return new Promise((resolve) => {
    const said = (what: Said): void => {
      stop()
      resolve(what)
    }
    const stop = clock.after(ANSWER_WITHIN_MS, () => {
      said('silent')
      call.abort()
    })
    const call = exchangeMessages(
      wire,
      { method: 'POST', url, headers: { ...by, ...headers, ...HEADERS }, body: discover(id) },
      {
        message(message, streamed) {
          if (message.kind !== 'response') return
          said(eraIn(message))
          // Some never end the stream.
          if (streamed) call.abort()
        },
        accepted: () => said('legacy'),
        ended: () => said('legacy'),
        refused: (refused) => said(eraOfRefusal(refused)),
        // What cannot be read is an answer all the same.
        failed: ({ reason }) => said(reason === 'upstream_protocol' ? 'legacy' : 'nothing'),
      },
    )
  })
}

function discover(id: number): Buffer {
  const _meta = {
    [meta.protocolVersion]: REVISION,
    [meta.clientInfo]: { name: 'mrtr-proxy', version },
    [meta.clientCapabilities]: {},
  }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'server/discover', params: { _meta } }))
}

function eraOfRefusal(refused: Refused): Said {
  const { status } = refused
  if (status === 401 || status === 403 || status === 407) return 'refused'
  if (status === 429 || status >= 500) return 'nothing'
  const error = errorIn(refused)
  return error === undefined ? 'legacy' : eraIn(error)
}

function eraIn(response: IncomingResponse): 'legacy' | 'modern' {
  if (!response.ok) {
    const code = codeOf(response)
    return code !== undefined && code <= -32020 && code >= -32022 ? 'modern' : 'legacy'
  }
  const result = at(response.root, 'result')
  const told: unknown = result && parsed(response.text, result)
  if (typeof told !== 'object' || told === null || !('supportedVersions' in told)) return 'legacy'
  const { supportedVersions } = told
  const served = Array.isArray(supportedVersions) && supportedVersions.some(isServed)
  return served ? 'modern' : 'legacy'
}

const isServed = (revision: unknown): boolean => SUPPORTED_REVISIONS.some((each) => each === revision)
