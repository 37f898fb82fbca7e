/** Whether an address, with or without port, is this machine's own: loopback names and addresses only. */
export function isLoopback(address: string): boolean {
  // A bare IPv6 address has colons of its own, which begin no port.
  const host = address
    .toLowerCase()
    .replace(/^([^:]*|\[.*\]):\d+$/, '$1')
    .replace(/^\[|\]$/g, '')
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
