import { classifyInboundRequest } from '@modelcontextprotocol/server'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { meta } from '../../../src/mcp/meta.ts'
import { dial, NOW, openDoor, posted } from './door.ts'

const version = fc.constantFrom(NOW, '2025-11-25', '2026-09-01', 'v999', undefined)
const method = fc.constantFrom('tools/list', 'tools/call', 'prompts/get', 'resources/read', 'Tools/Call')
const name = fc.constantFrom('echo', 'naïve', 'a b', undefined)

/** Mostly what fits, sometimes something else. */
const or = <T>(right: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: others })

const encoded = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`

const request = fc
  .record({ version: or<string | undefined>(NOW, version), method, name, id: fc.constantFrom(1, 'a', 0) })
  .chain((body) =>
    fc.record({
      body: fc.constant(body),
      envelope: or<'whole' | 'version' | 'none' | 'odd'>('whole', fc.constantFrom('version', 'none', 'odd')),
      version: or(body.version, version),
      method: or<string | undefined>(body.method, fc.constantFrom('tools/list', undefined)),
      name: or<string | undefined>(
        body.name && encoded(body.name),
        fc.constantFrom('other', '=?base64?!?=', undefined),
      ),
    }),
  )

type Generated = typeof request extends fc.Arbitrary<infer T> ? T : never

/** The body that goes with a generated request. */
function bodyOf({ body, envelope }: Generated): object {
  const member = body.method === 'resources/read' ? 'uri' : 'name'
  const named = body.name === undefined || body.method === 'tools/list' ? {} : { [member]: body.name }
  const own: Record<string, unknown> = { [meta.protocolVersion]: envelope === 'odd' ? 7 : body.version }
  if (envelope !== 'version') own[meta.clientCapabilities] = {}
  return {
    jsonrpc: '2.0',
    id: body.id,
    method: body.method,
    params: { ...named, ...(envelope !== 'none' && { _meta: own }) },
  }
}

function faultsOf(each: Generated): number {
  const { body, envelope, version, method } = each
  return [
    body.version !== NOW,
    envelope !== 'whole',
    version !== body.version,
    method !== body.method,
    !nameFits(each),
  ].filter(Boolean).length
}

function nameFits({ body, name }: Generated): boolean {
  const named =
    ['tools/call', 'prompts/get', 'resources/read'].includes(body.method) && body.name !== undefined
  return !named || name === encoded(body.name ?? '')
}

it('M-HDR-01, M-HDR-02, M-HDR-03, M-HDR-04: judges requests as the official server does', async () => {
  const { port } = await openDoor({
    serve: (_route, _request, answer) => answer.end([Buffer.from('{}')], 200),
  })
  const line = await dial(port)
  const verdicts = { served: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(request, async (each) => {
      // With several faults the two may name different ones.
      fc.pre(faultsOf(each) < 2)
      const body = bodyOf(each)
      const official = classifyInboundRequest({
        httpMethod: 'POST',
        body: JSON.parse(JSON.stringify(body)),
        ...(each.version !== undefined && { protocolVersionHeader: each.version }),
        ...(each.method !== undefined && { mcpMethodHeader: each.method }),
        ...(each.name !== undefined && { mcpNameHeader: each.name }),
      })
      line.send(
        posted(JSON.stringify(body), {
          'mcp-protocol-version': each.version,
          'mcp-method': each.method,
          'mcp-name': each.name,
        }),
      )
      const { status, json } = await line.reply()
      const ours = json.error === undefined ? 'served' : `${status} ${json.error.code}`
      verdicts[ours === 'served' ? 'served' : 'refused'] += 1
      // It lets missing headers pass, which the page does not, and leaves the name to a later step.
      const missing = official.kind === 'modern' && (each.version === undefined || each.method === undefined)
      const misnamed = official.kind === 'modern' && each.body.version === NOW && !nameFits(each)
      const expected = missing || misnamed ? '400 -32020' : theirs(official, each.body.version)
      expect({ each, ours }).toEqual({ each, ours: expected })
    }),
    { numRuns: 600 },
  )
  expect(verdicts.served).toBeGreaterThan(20)
  expect(verdicts.refused).toBeGreaterThan(20)
})

function theirs(official: ReturnType<typeof classifyInboundRequest>, requested: string | undefined): string {
  switch (official.kind) {
    case 'reject':
      return `${official.httpStatus} ${official.code}`
    // Clients of earlier revisions are refused on this route (M-VER-06).
    case 'legacy':
      return '400 -32022'
    // It leaves the revision to the serving instance.
    case 'modern':
      return requested === NOW ? 'served' : '400 -32022'
  }
}
