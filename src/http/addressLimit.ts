import { BlockList, isIPv6 } from 'node:net'
import { isLoopback } from './loopback.ts'

export interface AddressLimitOptions {
  /** Connections that one address may have open. */
  readonly max: number
  /** Addresses and subnets (`10.0.0.0/8`) that are not counted; nor is loopback. */
  readonly exempt: readonly string[]
}

/** `refuse`: one too many, to be told so; `cut`: so many more that nobody is told. */
export type Verdict = 'fits' | 'refuse' | 'cut'

/** Counts open connections by remote address, so that no one address takes them all. */
export function createAddressLimit({ max, exempt }: AddressLimitOptions) {
  const counts = new Map<string, number>()
  const trusted = listOf(exempt)

  /** Counts a connection in; `leave` counts it out. */
  function enter(remote: string): { readonly verdict: Verdict; leave(): void } {
    const address = remote.replace(/^::ffff:/, '')
    if (isLoopback(address) || trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
      return { verdict: 'fits', leave: () => undefined }
    }
    const count = (counts.get(address) ?? 0) + 1
    counts.set(address, count)
    return {
      verdict: count <= max ? 'fits' : count <= 2 * max ? 'refuse' : 'cut',
      leave() {
        const left = (counts.get(address) ?? 1) - 1
        if (left > 0) counts.set(address, left)
        else counts.delete(address)
      },
    }
  }

  return { enter, addresses: () => counts.size }
}

function listOf(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
