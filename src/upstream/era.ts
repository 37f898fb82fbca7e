import type { Clock } from '../clock.ts'
import type { Said } from './askEra.ts'
import type { Headers } from './channel.ts'

export type Verdict = 'legacy' | 'modern'

/** The era of one route's upstream (M-VER-07), asked for with the credentials of whoever wants to know. */
export interface Era {
  /** At once where it is known, else once the upstream was asked. */
  of(credentials: () => Headers): Verdict | Promise<Verdict>
  /** The same after an answer that does not fit: the upstream is asked anew, unless it was a moment ago. */
  again(credentials: () => Headers): Promise<Verdict>
  /** The upstream was lost, and who comes back may be another one: the next request asks first. */
  doubt(): void
}

export interface EraOptions {
  readonly pinned: Verdict | 'auto'
  readonly ask: (credentials: Headers) => Promise<Said>
  readonly clock: Clock
  /** The upstream turned out to be of the other era than the one it was taken for; first that is legacy. */
  readonly onChange: (verdict: Verdict) => void
}

/** How long a verdict holds; the request after it is served by it still, while the upstream is asked. */
const HOLDS_MS = 300_000
/** The same for what is taken for legacy since it said nothing, and after a question that told nothing. */
const HOLDS_UNSURE_MS = 30_000
/** Some answers of a modern server look like those of a legacy one: it is not asked at each of them. */
const AGAIN_AFTER_MS = 5_000

/** Remembers what the upstream told of its era. Until it tells something it is taken for legacy. */
export function createEra({ pinned, ask, clock, onChange }: EraOptions): Era {
  if (pinned !== 'auto') {
    return { of: () => pinned, again: () => Promise.resolve(pinned), doubt: () => undefined }
  }
  let verdict: Verdict = 'legacy'
  let holdsUntilMs = Number.NEGATIVE_INFINITY
  /** Past that time, a request waits for the answer. */
  let waits = true
  let silent = false
  /** When an answer that did not fit was last found to be one of a server of the same era. */
  let confirmedMs = Number.NEGATIVE_INFINITY
  let asking: Promise<Said> | undefined
  /** Questions with credentials of one's own, by these. */
  const alone = new Map<string, Promise<Said>>()

  function learn(said: Said): Said {
    const nowMs = clock.now()
    silent = said === 'silent'
    if (said === 'legacy' || said === 'modern') {
      holdsUntilMs = nowMs + HOLDS_MS
      waits = false
      if (said !== verdict) {
        verdict = said
        confirmedMs = Number.NEGATIVE_INFINITY
        onChange(said)
      }
    } else if (silent || !waits) {
      holdsUntilMs = nowMs + HOLDS_UNSURE_MS
      waits = false
    }
    return said
  }

  async function settle(credentials: () => Headers): Promise<Verdict> {
    const others = asking
    asking ??= ask(credentials())
      .then(learn)
      .finally(() => {
        asking = undefined
      })
    const said = await asking
    // That somebody else's credentials are not taken says nothing of one's own.
    if (others !== undefined && said === 'refused') await askAlone(credentials())
    return verdict
  }

  function askAlone(credentials: Headers): Promise<Said> {
    const key = JSON.stringify(credentials)
    const known = alone.get(key)
    if (known !== undefined) return known
    const own = ask(credentials)
      .then(learn)
      .finally(() => alone.delete(key))
    alone.set(key, own)
    return own
  }

  return {
    of(credentials) {
      if (clock.now() < holdsUntilMs) return verdict
      const settled = settle(credentials)
      return waits ? settled : verdict
    },
    async again(credentials) {
      if (clock.now() - confirmedMs < AGAIN_AFTER_MS) return verdict
      const before = verdict
      const now = await settle(credentials)
      if (now === before) confirmedMs = clock.now()
      return now
    },
    doubt() {
      holdsUntilMs = Number.NEGATIVE_INFINITY
      confirmedMs = Number.NEGATIVE_INFINITY
      // One that says nothing would cost each of them the whole time.
      waits = !silent
    },
  }
}
