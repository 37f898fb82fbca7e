import { isRecord } from '../mcp/isRecord.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import { meta } from '../mcp/meta.ts'
import { SUPPORTED_REVISIONS } from '../mcp/revisions.ts'
import { type ChannelOptions, POST_HEADERS } from '../upstream/channel.ts'
import { errorIn, refusal, refusedError } from '../upstream/failure.ts'
import { exchangeMessages } from '../upstream/post.ts'
import { version } from '../version.ts'
import type { Facts } from './facts.ts'
import { type LegacyOptions, serverOf } from './legacy.ts'
import { type Ask, resultOf } from './list.ts'
import { readDeclared } from './readDeclared.ts'

const [REVISION = ''] = SUPPORTED_REVISIONS

/** What a modern client declares that can be asked everything. */
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} }

/** Looks at a modern server, to which the proxy passes modern clients byte for byte. */
export async function probeModern(options: LegacyOptions, facts: Facts): Promise<void> {
  const { channel, nextId, deadline, hide } = options
  const ask: Ask = (method, cursor) => deadline.within(send(channel, nextId(), method, cursor))
  facts.era = 'modern'
  facts.transport = 'streamable-http'
  facts.sessions = false
  const result = resultOf(await ask('server/discover'))
  facts.revision = REVISION
  const own = isRecord(result._meta) ? result._meta : {}
  facts.server = serverOf(own[meta.serverInfo], hide)
  const capabilities = isRecord(result.capabilities) ? result.capabilities : {}
  facts.capabilities = { declared: hide.value(capabilities), seen: hide.value(capabilities) }
  await readDeclared(facts, capabilities, ask, hide)
}

/** One modern request; resolves with its response, and what comes before that is nothing to us. */
function send(
  { wire, url, headers }: ChannelOptions,
  id: number,
  method: string,
  cursor: string | undefined,
): Promise<IncomingResponse> {
  const _meta = {
    [meta.protocolVersion]: REVISION,
    [meta.clientInfo]: { name: 'mrtr-proxy', version },
    [meta.clientCapabilities]: CAPABILITIES,
  }
  const params = cursor === undefined ? { _meta } : { cursor, _meta }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  const own = { ...POST_HEADERS, 'mcp-protocol-version': REVISION, 'mcp-method': method }
  return new Promise((resolve, reject) => {
    const nothing = (): void => reject(new Error('the response was none'))
    const call = exchangeMessages(
      wire,
      { method: 'POST', url, headers: { ...headers, ...own }, body },
      {
        message(message, streamed) {
          if (message.kind !== 'response') return
          resolve(message)
          // Some never end the stream.
          if (streamed) call.abort()
        },
        accepted: nothing,
        ended: nothing,
        refused(refused) {
          const error = errorIn(refused)
          if (error === undefined) reject(refusal(refused) ?? refusedError(refused))
          else resolve(error)
        },
        failed: reject,
      },
    )
  })
}
