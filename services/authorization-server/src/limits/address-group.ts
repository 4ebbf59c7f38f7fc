import { isIPv6 } from 'node:net'

/**
 * What counts as one address: an IPv4 address, or the /64 network that one IPv6 subscriber gets, for within it an
 * attacker has a new address for every attempt.
 */
export function addressGroup(address: string): string {
  const [withoutZone = ''] = address.split('%', 1)
  if (!isIPv6(withoutZone)) return address
  // One spelling for all: hexadecimal, lower case, the longest run of zeros as `::`.
  const plain = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(plain)
  if (mapped !== null) return [mapped[1], mapped[2]].flatMap(toOctets).join('.')
  const [head = '', tail] = plain.split('::')
  const leading = head === '' ? [] : head.split(':')
  const trailing = tail ? tail.split(':') : []
  const zeros = Array<string>(8 - leading.length - trailing.length).fill('0')
  return `${[...leading, ...zeros, ...trailing].slice(0, 4).join(':')}::/64`
}

function toOctets(group = ''): number[] {
  const number = Number.parseInt(group, 16)
  return [number >> 8, number & 255]
}
