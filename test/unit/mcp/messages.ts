import fc from 'fast-check'
import {
  type Incoming,
  type IncomingNotification,
  type IncomingRequest,
  type IncomingResponse,
  readMessages,
} from '../../../src/mcp/message.ts'

/** The one message in `text`, or of this value. */
export function incoming(message: string | object): Incoming {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  const [only, ...others] = readMessages(Buffer.from(text))
  if (only === undefined || others.length > 0) throw new Error('not one message')
  return only
}

export function response(message: string | object): IncomingResponse {
  const only = incoming(message)
  if (only.kind !== 'response') throw new Error(`a ${only.kind}`)
  return only
}

export function request(message: string | object): IncomingRequest {
  const only = incoming(message)
  if (only.kind !== 'request') throw new Error(`a ${only.kind}`)
  return only
}

export function notification(message: string | object): IncomingNotification {
  const only = incoming(message)
  if (only.kind !== 'notification') throw new Error(`a ${only.kind}`)
  return only
}

/** JSON texts that a parser and a printer would not give back as they were. */
export const oddValue = fc.constantFrom(
  '9007199254740993',
  '1.0',
  '1E+2',
  '-0',
  '"\\u00e9\\/"',
  '"é\\n"',
  '{"__proto__":{"a":1},"a" : 1,\t"b":[ ]}',
  '[ 1 , {"resultType":"input_required"} , null ]',
  'null',
  '"}],{["',
)

export const space = fc.constantFrom('', ' ', '\n', '\t ', '  ')

/** A member as it stands between `{`, `,` and `}`. */
export interface Written {
  readonly name: string
  readonly before: string
  readonly value: string
  readonly after: string
}

/** A member of a name that nobody owns, or of one of `owned`. */
export function members(owned: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<Written[]> {
  const free = fc.record({
    name: fc.constantFrom('a', 'B', '__proto__', 'é', 'x y', 'constructor', '_Meta', 'ResultType'),
    before: space,
    value: oddValue,
    after: space,
  })
  const ours = Object.entries(owned).map(([name, value]) =>
    fc.record({ name: fc.constant(name), before: space, value, after: space }),
  )
  return fc.uniqueArray(fc.oneof(free, ...ours), { selector: (member) => member.name, maxLength: 8 })
}

export function written(all: readonly Written[]): string {
  return `{${all.map(({ name, before, value, after }) => `${before}${JSON.stringify(name)}${after}:${before}${value}${after}`).join()}}`
}
