import { expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../../src/http/admin.ts'

it('cases 49: health, the process lives, and whether it takes calls', async () => {
  let ready = true
  const admin = createAdmin({ listen: '127.0.0.1:0', ready: () => ready })
  const { port } = await admin.listen()
  onTestFinished(() => admin.close())
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  expect([await status('/healthz'), await status('/readyz?x'), await status('/metrics')]).toEqual([
    200, 200, 404,
  ])
  ready = false
  expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 503])
})

it('an address in use is an error', async () => {
  const first = createAdmin({ listen: '127.0.0.1:0', ready: () => true })
  const { port } = await first.listen()
  onTestFinished(() => first.close())
  const second = createAdmin({ listen: `127.0.0.1:${port}`, ready: () => true })
  await expect(second.listen()).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
