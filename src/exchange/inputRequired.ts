import { meta } from '../mcp/meta.ts'

/** The parts of an `input_required` response; without questions its state alone asks to come back (M-MRTR-03, -16). */
export function inputRequired(
  id: Buffer,
  questions: Buffer | undefined,
  requestState: string,
  serverInfo: Buffer | undefined,
): Buffer[] {
  const parts = [HEAD, id, RESULT]
  if (serverInfo !== undefined) parts.push(META, serverInfo, CLOSE_META)
  if (questions !== undefined) parts.push(QUESTIONS, questions)
  parts.push(Buffer.from(`,"requestState":${JSON.stringify(requestState)}}}`))
  return parts
}

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":')
const RESULT = Buffer.from(',"result":{"resultType":"input_required"')
const META = Buffer.from(`,"_meta":{${JSON.stringify(meta.serverInfo)}:`)
const CLOSE_META = Buffer.from('}')
const QUESTIONS = Buffer.from(',"inputRequests":')
