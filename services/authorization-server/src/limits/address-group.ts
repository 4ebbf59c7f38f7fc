import { isIPv6 } from 'node:net'

/**
 * What counts as one address: an IPv4 address, or the /64 network that one IPv6 subscriber gets, for within it an
 * attacker has a new address for every attempt.
 */
export function addressGroup(address: string): string {
  const [withoutZone = ''] = address.split('%', 1)
  if (!isIPv6(withoutZone)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(withoutZone)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = withoutZone.split('::')
  const leading = head === '' ? [] : head.split(':')
  const trailing = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - leading.length - trailing.length)).fill('0')
  const groups = [...leading, ...zeros, ...trailing].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
