import { readMessages } from '../mcp/message.ts'
import { createSseReader, type SseReader } from '../mcp/sseReader.ts'
import { headerOf, type Wire, type WireHeaders } from '../upstream/wire.ts'
import type { Asked, Tried } from './facts.ts'

/** More than this of either is not kept: a server that redirects or asks without end fills no report. */
const MAX_KEPT = 100

/**
 * A wire whose traffic is noted on its way: each request with the head of its response, and what the server
 * asks on which stream. `hide` takes secrets out of what the server wrote.
 */
export function createWitness(inner: Wire, hide: (text: string) => string) {
  const tried: Tried[] = []
  const asked: Asked[] = []

  const wire: Wire = {
    ...inner,
    send(request, sink) {
      const one: Tried = {
        verb: request.method,
        url: shown(request.url),
        method: methodOf(request.body),
        status: null,
        type: null,
        location: null,
        failure: null,
      }
      if (tried.length < MAX_KEPT) tried.push(one)
      let reader: SseReader | undefined
      return inner.send(request, {
        head(status, headers) {
          note(one, status, headers)
          if (one.type === 'text/event-stream') reader = listen(request.method === 'GET' ? 'GET' : 'POST')
          sink.head(status, headers)
        },
        chunk(bytes) {
          // What cannot be read is told by whom it is for.
          try {
            reader?.push(bytes)
          } catch {
            reader = undefined
          }
          sink.chunk(bytes)
        },
        end: () => sink.end(),
        error(cause, sent) {
          one.failure = 'code' in cause && typeof cause.code === 'string' ? cause.code : hide(cause.message)
          sink.error(cause, sent)
        },
      })
    },
  }

  function note(one: Tried, status: number, headers: WireHeaders): void {
    one.status = status
    const type = headerOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase()
    one.type = type === undefined ? null : hide(type.slice(0, 80))
    const location = headerOf(headers, 'location')
    if (location !== undefined && URL.canParse(location, one.url))
      one.location = hide(shown(new URL(location, one.url)))
  }

  function listen(stream: Asked['stream']): SseReader {
    return createSseReader({
      event({ event, data }) {
        if ((event !== undefined && event !== 'message') || data.length === 0) return
        for (const message of readMessages(data)) {
          if (message.kind !== 'request' || asked.length >= MAX_KEPT) continue
          const method = hide(message.method.slice(0, 80))
          if (!asked.some((each) => each.method === method && each.stream === stream))
            asked.push({ method, stream })
        }
      },
    })
  }

  return { wire, tried, asked }
}

/** A URL without what may be a key. */
export function shown({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

/** Of a message of ours, which has its method where it can be found so. */
function methodOf(body: Buffer | undefined): string | null {
  return /"method":"([\w/]+)"/.exec(body?.toString('latin1') ?? '')?.[1] ?? null
}
