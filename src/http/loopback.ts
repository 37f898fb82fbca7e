/** Whether a listen address is this machine's own: loopback names and addresses only. */
export function isLoopback(address: string): boolean {
  const host = address
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
