import type { Exchanges } from '../exchange/exchanges.ts'
import { requestShape } from '../mcp/jsonrpc.ts'
import type { IncomingResponse } from '../mcp/message.ts'
import { noParamHeaders } from '../mcp/paramHeaders.ts'
import type { Answer, ModernRequest } from '../mcp/request.ts'
import { at, scan, textOf } from '../mcp/scan.ts'

/** Pages that are asked for; a list that goes on is taken as it is by then. */
const MAX_PAGES = 16

/**
 * Asks the upstream for all tools, as the caller of `request` and on a session of its capabilities. Resolves
 * at the end of the list, and when something went wrong: what it is, the call itself will be told.
 */
export async function askForTools(
  exchanges: Exchanges,
  request: ModernRequest,
  learn: (list: ModernRequest, page: IncomingResponse) => void,
): Promise<void> {
  let cursor: Buffer | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const response = await ask(exchanges, listRequest(request, cursor), learn)
    const next = response && at(response.root, 'result', 'nextCursor')
    if (response === undefined || next?.kind !== 'string') return
    cursor = textOf(response.text, next)
  }
}

/** One page; undefined if there is none to be had. */
function ask(
  exchanges: Exchanges,
  list: ModernRequest,
  learn: (list: ModernRequest, page: IncomingResponse) => void,
): Promise<IncomingResponse | undefined> {
  return new Promise((resolve) => {
    let heard: IncomingResponse | undefined
    const done = (): void => resolve(heard)
    const answer: Answer = {
      open: true,
      streaming: false,
      takesStream: false,
      notify: () => undefined,
      end: done,
      fail: done,
      onLeave: () => undefined,
    }
    exchanges.serve(list, answer, {
      rounds: false,
      onResult(response) {
        heard = response
        learn(list, response)
      },
    })
  })
}

function listRequest({ envelope, caller }: ModernRequest, cursor: Buffer | undefined): ModernRequest {
  const params = cursor === undefined ? '' : `,"params":{"cursor":${cursor}}`
  const text = Buffer.from(`{"jsonrpc":"2.0","id":0,"method":"tools/list"${params}}`)
  return {
    text,
    root: scan(text, requestShape),
    id: Buffer.from('0'),
    method: 'tools/list',
    envelope: { ...envelope, logLevel: undefined, progressToken: undefined },
    caller,
    paramHeaders: noParamHeaders,
  }
}
