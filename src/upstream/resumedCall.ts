import { GatewayError } from '../errors.ts'
import type { Headers } from './channel.ts'
import { POST_HEADERS } from './channel.ts'
import type { ResponseSink } from './post.ts'
import { patience, type Requests, streamHeaders } from './requests.ts'
import type { WireCall } from './wire.ts'

/** Resumed streams in a row that bring neither a message nor a new event id, until the call is given up. */
const MAX_STUCK = 2

/**
 * POSTs a call and reads on until its response came: a stream that ends or breaks before is taken up again by
 * GET with `Last-Event-ID`, if the upstream gave event ids (2025-11-25 transports §Resumability; L-HTTP-04).
 * An upstream may so let go of a call's connection as often as it likes, while each stream moves on.
 */
export function startResumedCall(
  requests: Requests,
  body: Buffer,
  credentials: Headers,
  sink: ResponseSink,
): WireCall {
  let lastEventId: string | undefined
  let toldMs: number | undefined
  /** Its response came, or nobody wants it any more. */
  let done = false
  let resumed = false
  let moved = true
  let barren = 0
  let stuck = 0

  const watched: ResponseSink = {
    head: (status, headers) => sink.head?.(status, headers),
    message(message, streamed) {
      moved = true
      barren = 0
      if (message.kind === 'response') done = true
      sink.message(message, streamed)
    },
    mark({ id, retryMs }) {
      toldMs = retryMs ?? toldMs
      if (id === undefined || id === lastEventId) return
      moved = true
      // An empty id takes the last one back (HTML §9.2.6).
      lastEventId = id === '' ? undefined : id
    },
    accepted: () => sink.accepted(),
    ended() {
      if (!resume()) sink.ended()
    },
    refused(refused) {
      if (resumed) sink.failed(new GatewayError('upstream_closed', `no resuming: ${refused.status}`), true)
      else sink.refused(refused)
    },
    failed(error, sent) {
      if (error.reason === 'upstream_protocol' || !resume()) sink.failed(error, sent || resumed)
    },
  }
  let current = requests.send(credentials, POST_HEADERS, watched, body)

  /** Comes back for the rest; false if there is none to be had. */
  function resume(): boolean {
    if (done || requests.closed() || lastEventId === undefined) return false
    stuck = moved ? 0 : stuck + 1
    if (stuck > MAX_STUCK) return false
    requests.later(patience(toldMs, barren), () => {
      if (done) return
      moved = false
      resumed = true
      current = requests.send(credentials, streamHeaders(lastEventId), watched)
    })
    barren += 1
    return true
  }

  return {
    abort() {
      done = true
      current.abort()
    },
    pause: () => current.pause(),
    resume: () => current.resume(),
  }
}
