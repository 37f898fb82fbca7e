import { ProtocolError } from '../errors.ts'

/** A question that the request's declared capabilities do not cover (basic §_meta, M-BASE-16). */
export function missingCapability(requiredCapabilities: Readonly<Record<string, unknown>>): ProtocolError {
  const message = 'the server asks for what this request does not declare'
  return new ProtocolError(-32021, message, 400, { requiredCapabilities })
}
