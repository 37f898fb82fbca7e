import { type IncomingNotification, isWritten } from './message.ts'
import { meta } from './meta.ts'
import { at } from './scan.ts'
import { createSplice } from './splice.ts'

/** What a subscription delivers, as the client names it (schema SubscriptionFilter). */
export interface FilterMembers {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/** The first message of a subscription: what of its filter is honoured (M-SUB-01). */
export function acknowledgement(id: Buffer, honoured: FilterMembers): Buffer {
  return Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":'),
    metaOf(id),
    Buffer.from(`,"notifications":${JSON.stringify(honoured)}}}`),
  ])
}

/**
 * An upstream's notification as one of the subscription `id`, which takes the place of any id that the upstream
 * gave (M-SUB-02); what else it says stays as it is.
 */
export function subscriptionDown({ text, root }: IncomingNotification, id: Buffer): Buffer {
  const splice = createSplice(text)
  const params = at(root, 'params')
  const own = at(params, '_meta')
  if (params?.kind !== 'object') {
    splice.set(root, 'params', Buffer.concat([Buffer.from('{"_meta":'), metaOf(id), Buffer.from('}')]))
  } else if (own?.kind !== 'object') {
    splice.set(params, '_meta', metaOf(id))
  } else {
    splice.set(own, meta.subscriptionId, id)
    splice.remove(own, meta.relatedTask)
  }
  if (!isWritten(text, at(root, 'jsonrpc'), '"2.0"')) splice.set(root, 'jsonrpc', '"2.0"')
  if (at(root, 'id') !== undefined) splice.remove(root, 'id')
  return splice.bytes()
}

/** The response to a subscription that ends by our own will (M-SUB-06). */
export function subscriptionResult(id: Buffer, serverInfo: Buffer | undefined): Buffer {
  const identity =
    serverInfo === undefined ? [] : [Buffer.from(`"${meta.serverInfo}":`), serverInfo, Buffer.from(',')]
  return Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":'),
    id,
    Buffer.from(',"result":{"resultType":"complete","_meta":{'),
    ...identity,
    Buffer.from(`"${meta.subscriptionId}":`),
    id,
    Buffer.from('}}}'),
  ])
}

const metaOf = (id: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`{"${meta.subscriptionId}":`), id, Buffer.from('}')])
