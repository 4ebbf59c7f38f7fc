import ipaddr from 'ipaddr.js'

/** The only IPv6 range from which public addresses are assigned. Translated, mapped and local addresses are outside of it. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/** Ranges that do not lead to a host of that address (RFC 6890 and its registries), and IPv6 ranges that embed IPv4. */
const REFUSED = {
  ipv4: ['192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.175.48.0/24', '198.18.0.0/15'],
  ipv6: ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']
}

const RANGES = { ipv4: REFUSED.ipv4.map(toRange), ipv6: REFUSED.ipv6.map(toRange) }

/** Whether an address belongs to a host on the public internet. Special-purpose ranges (RFC 6890) do not. */
export function isPublicAddress(text: string): boolean {
  // A zone names an interface of this machine.
  if (!ipaddr.isValid(text) || text.includes('%')) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast' || RANGES[address.kind()].some((range) => address.match(range))) return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST)
}

/** Whether an address belongs to the loopback interface of this machine. */
export function isLoopbackAddress(text: string): boolean {
  return ipaddr.isValid(text) && ipaddr.process(text).range() === 'loopback'
}

function toRange(range: string): ReturnType<typeof ipaddr.parseCIDR> {
  return ipaddr.parseCIDR(range)
}
