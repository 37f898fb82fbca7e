import { describe, expect, it } from 'vitest'
import { checkHeaders, checkNotification, type MirroredHeaders } from '../../../src/mcp/headers.ts'
import { meta } from '../../../src/mcp/meta.ts'
import { SUPPORTED_REVISIONS } from '../../../src/mcp/revisions.ts'
import { requestBody, scanned, thrownBy } from './requests.ts'

const NOW = '2026-07-28'
const MISMATCH = { name: 'ProtocolError', code: -32020, status: 400 }

function check(method: string, params: object, headers: Partial<MirroredHeaders>, version = NOW): void {
  const { text, root } = scanned(requestBody(method, params))
  checkHeaders({ version: NOW, method, name: undefined, ...headers }, version, method, text, root)
}

const call = (name: string, header: string | undefined): void =>
  check('tools/call', { name }, { name: header })
const sentinel = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('headers that mirror the body', () => {
  it('agree with it', () => {
    check('tools/list', {}, {})
    call('echo', 'echo')
    check('prompts/get', { name: 'p' }, { name: 'p' })
    check('resources/read', { uri: 'file:///a' }, { name: 'file:///a' })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      check(method, { taskId: 't' }, { name: 't' })
  })

  it('M-HDR-01: a version header that is missing or another one is a mismatch, before all else', () => {
    for (const version of [undefined, '', '2025-11-25', 'v999', `${NOW}x`]) {
      expect(thrownBy(() => check('tools/list', {}, { version, method: 'x' }))).toMatchObject(MISMATCH)
    }
    expect(thrownBy(() => check('tools/list', {}, {}, 'v999'))).toMatchObject(MISMATCH)
  })

  it('M-VER-01: a version that is not served, named by both, is -32022 with those that are', () => {
    const error = thrownBy(() => check('tools/list', {}, { version: 'v999', method: undefined }, 'v999'))
    const data = { supported: SUPPORTED_REVISIONS, requested: 'v999' }
    expect(error).toMatchObject({ code: -32022, status: 400, data })
  })

  it.each([undefined, '', 'Tools/list', 'tools/list/', 'tools/call'])(
    'M-HDR-02: Mcp-Method %s is a mismatch',
    (method) => {
      expect(thrownBy(() => check('tools/list', {}, { method }))).toMatchObject(MISMATCH)
    },
  )

  it('M-HDR-03: Mcp-Name is required where the body has the name, and equal', () => {
    for (const header of [undefined, '', 'Echo', 'echo2']) {
      expect(thrownBy(() => call('echo', header))).toMatchObject(MISMATCH)
    }
    expect(thrownBy(() => check('resources/read', { uri: 'a:b' }, {}))).toMatchObject(MISMATCH)
    expect(thrownBy(() => check('tasks/get', { taskId: 't' }, { name: 'u' }))).toMatchObject(MISMATCH)
  })

  it('M-HDR-03: of other methods, and without a name in the body, it is not looked at', () => {
    check('tools/list', { name: 'a' }, { name: 'b' })
    check('tools/call', {}, {})
    check('tools/call', { name: 7 }, {})
  })

  it('M-HDR-04: the base64 sentinel is decoded before it is compared', () => {
    for (const name of ['zürich', '日本語', ' blank ', '', 'plain', '\ufeffmark', '=?base64?YQ==?=']) {
      call(name, sentinel(name))
    }
    expect(thrownBy(() => call('zürich', sentinel('zurich')))).toMatchObject(MISMATCH)
  })

  it.each([
    ['padding missing', '=?base64?YQ?='],
    ['padding too long', '=?base64?YWE==?='],
    ['another alphabet', '=?base64?_-8=?='],
    ['a blank in it', '=?base64?Y Q==?='],
    ['bits left over', '=?base64?YR==?='],
    ['no UTF-8', `=?base64?${Buffer.from([0xff, 0xfe]).toString('base64')}?=`],
  ])('M-HDR-04: %s is a mismatch', (_, header) => {
    for (const name of ['a', 'aa', header]) expect(thrownBy(() => call(name, header))).toMatchObject(MISMATCH)
  })

  it.each(['=?base64?YQ==', 'YQ==?=', '=?BASE64?YQ==?=', '=?base64?=', '?='])(
    'M-HDR-04: %s is a literal',
    (name) => {
      call(name, name)
    },
  )

  it('M-HDR-07: characters that must be encoded are refused even where they are equal', () => {
    expect(thrownBy(() => call('zürich', 'zürich'))).toMatchObject(MISMATCH)
    expect(thrownBy(() => call('a\u0001', 'a\u0001'))).toMatchObject(MISMATCH)
    expect(thrownBy(() => check('é', {}, {}))).toMatchObject(MISMATCH)
    call('a\tb c', 'a\tb c')
  })
})

describe('M-HTTP-05: headers of a notification', () => {
  const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  const claiming = (version: unknown) => ({
    ...body,
    params: { requestId: 1, _meta: { [meta.protocolVersion]: version } },
  })
  function notification(message: object, version: string | undefined, method?: string): void {
    const { text, root } = scanned(message)
    checkNotification({ version, method, name: undefined }, 'notifications/cancelled', text, root)
  }

  it('needs neither envelope nor Mcp-Method', () => {
    notification(body, NOW)
    notification(claiming(NOW), undefined)
    notification(claiming(NOW), NOW, 'notifications/cancelled')
  })

  it('but what it has must agree', () => {
    expect(thrownBy(() => notification(claiming(NOW), '2025-11-25'))).toMatchObject(MISMATCH)
    expect(thrownBy(() => notification(body, NOW, 'notifications/progress'))).toMatchObject(MISMATCH)
    expect(thrownBy(() => notification(body, '2027-01-01'))).toMatchObject({ code: -32022 })
    expect(thrownBy(() => notification(claiming(7), NOW))).toMatchObject({ code: -32602 })
  })
})
