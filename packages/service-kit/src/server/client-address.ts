import { BlockList, isIP } from 'node:net'

/** Of a request: the two headers in which proxies name the client. Several lines of one name are a list of lines. */
export type ForwardingHeaders = {
  readonly 'x-forwarded-for'?: HeaderValue
  readonly forwarded?: HeaderValue
}
type HeaderValue = string | readonly string[] | undefined

/** The IP address of the client of a request; '' when the connection has ended before its address was read. */
export type ClientAddress = (peer: string | undefined, headers: ForwardingHeaders) => string

// A chain of proxies is short, and the longest element that a proxy writes names an address, a host and a protocol.
const MOST_ELEMENTS = 32
const LONGEST_ELEMENT = 512

/**
 * Reads the client's address. The headers count only if a trusted proxy made the connection. Each is read from the right:
 * every trusted proxy adds the address from which it was called, so the first address that is not a trusted proxy's is the
 * client's, and nothing left of it is read. Where a header names no address, or the two headers disagree, the connecting
 * peer counts: a client can lose its own address in this way, and never choose another one.
 * @param trustedProxies addresses or networks (`10.0.0.0/8`); none: the peer is the client
 */
export function clientAddressReader(trustedProxies: readonly string[]): ClientAddress {
  const trusted = networkList(trustedProxies)

  return function clientAddress(peer, headers) {
    const connecting = ipAddress(peer ?? '') ?? ''
    if (trustedProxies.length === 0 || !isIn(trusted, connecting)) return connecting
    const forwardedFor = readChain(headers['x-forwarded-for'], (element) => ipAddress(withoutPort(element)))
    const forwarded = readChain(headers.forwarded, addressOfForwarded)
    const claim = forwardedFor ?? forwarded
    const isDisputed = forwarded !== undefined && forwarded !== claim
    return claim === undefined || claim === '' || isDisputed ? connecting : claim
  }

  /** What one header says: undefined if it is absent, '' if the element that counts names no IP address. */
  function readChain(header: HeaderValue, read: (element: string) => string | undefined): string | undefined {
    let furthest: string | undefined
    let count = 0
    for (const element of elementsFromTheRight(header)) {
      const address = ++count > MOST_ELEMENTS ? undefined : read(element)
      if (address === undefined) return ''
      if (!isIn(trusted, address)) return address
      furthest = address
    }
    return furthest
  }
}

/** Whether an address in the normal form of `ipAddress` lies in one of the networks. */
export function networkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = networkList(networks)
  return (address) => isIn(list, address)
}

function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [text = '', prefix] = network.split('/')
    const address = ipAddress(text) ?? text
    const isV4 = isIP(address) === 4
    list.addSubnet(address, Number(prefix ?? (isV4 ? 32 : 128)), isV4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/**
 * The elements of a list header, last first, empty ones left out (RFC 9110 §5.6.1). It scans backwards, commas in quoted
 * strings apart: what a client put into the header stands left of what the proxies added, and cannot change how that is read.
 */
function* elementsFromTheRight(header: HeaderValue): Generator<string> {
  const text = typeof header === 'object' ? header.join(',') : (header ?? '')
  let end = text.length
  let isQuoted = false
  for (let index = text.length - 1; index >= -1; index--) {
    const character = text[index]
    if (character === '"' && !(isQuoted && isEscaped(text, index))) isQuoted = !isQuoted
    if (index >= 0 && (character !== ',' || isQuoted)) continue
    const element = text.slice(index + 1, end).trim()
    if (element !== '') yield element.length > LONGEST_ELEMENT ? 'too long' : element
    end = index
  }
}

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, index: number): boolean {
  let first = index
  while (text[first - 1] === '\\') first -= 1
  return (index - first) % 2 === 1
}

const PAIR = /\s*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]*))\s*(?:;|$)/y

/** The address of the one `for` of an element (RFC 7239 §4, §6). A client address in brackets is read without quotes, too. */
function addressOfForwarded(element: string): string | undefined {
  let found: string | undefined
  PAIR.lastIndex = 0
  while (PAIR.lastIndex < element.length) {
    const pair = PAIR.exec(element)
    if (pair === null) return undefined
    const [, name = '', quoted, token = ''] = pair
    if (name.toLowerCase() !== 'for') continue
    if (found !== undefined) return undefined
    found = quoted?.replaceAll(/\\(.)/g, '$1') ?? token
  }
  return found === undefined ? undefined : ipAddress(withoutPort(found))
}

/** `192.0.2.1:80`, `[2001:db8::1]:80` and `[2001:db8::1]` without brackets and port (RFC 7239 §6); else the text itself. */
function withoutPort(node: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::(?:\d{1,5}|_[\w.-]+))?$/.exec(node)
  return match?.[1] ?? match?.[2] ?? node
}

/**
 * One spelling for each IP address: no zone, an IPv4-mapped IPv6 address as IPv4, IPv6 as in RFC 5952; undefined for any
 * other text.
 */
export function ipAddress(text: string): string | undefined {
  const family = isIP(text)
  if (family !== 6) return family === 4 ? text : undefined
  const [withoutZone = ''] = text.split('%', 1)
  const plain = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(plain)
  return mapped === null ? plain : [mapped[1], mapped[2]].flatMap(toOctets).join('.')
}

function toOctets(group = ''): number[] {
  const number = Number.parseInt(group, 16)
  return [number >> 8, number & 255]
}
