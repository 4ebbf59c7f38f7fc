import { isIPv4, isIPv6 } from 'node:net'
import { ipAddress } from '@valetkey/service-kit'

/**
 * An IPv4 address, or the /64 network of an IPv6 address, because a subscriber can use a new address of the network for every
 * attempt.
 */
export function addressGroup(address: string): string {
  const plain = ipAddress(address) ?? address
  return isIPv6(plain) ? `${firstGroups(plain, 4)}::/64` : plain
}

/** A network that often belongs to one holder: the /24 of an IPv4 address, the /48 of an IPv6 address. */
export function addressNetwork(address: string): string {
  const plain = ipAddress(address) ?? address
  if (isIPv6(plain)) return `${firstGroups(plain, 3)}::/48`
  return isIPv4(plain) ? plain.replace(/\d+$/, '0/24') : plain
}

function firstGroups(address: string, count: number): string {
  const [head = '', tail] = address.split('::')
  const leading = head === '' ? [] : head.split(':')
  const trailing = tail ? tail.split(':') : []
  const zeros = Array<string>(8 - leading.length - trailing.length).fill('0')
  return [...leading, ...zeros, ...trailing].slice(0, count).join(':')
}
