import { BlockList, isIP } from 'node:net'

/** The two headers in which proxies name the client. Repeated headers are a list. */
type ForwardingHeaders = {
  readonly 'x-forwarded-for'?: HeaderValue
  readonly forwarded?: HeaderValue
}
type HeaderValue = string | readonly string[] | undefined

/** The IP address of the client of a request; '' when the connection has ended before its address was read. */
export type ClientAddress = (peer: string | undefined, headers: ForwardingHeaders) => string

// Far above the length of real chains and elements; limits the work for a forged header.
const MAX_ELEMENTS = 32
const MAX_ELEMENT_LENGTH = 512

/**
 * Reads the client's address. The headers count only if a trusted proxy made the connection. They are read from the right:
 * every trusted proxy appends the address of its caller, so the first address that is not a trusted proxy is the client,
 * and everything to the left of it is ignored. If a header has no valid address, or the two headers disagree, the result is
 * the connecting peer. So a client can hide its own address, but never choose another one.
 * @param trustedProxies addresses or networks (`10.0.0.0/8`); if empty, the peer is the client
 */
export function clientAddressReader(trustedProxies: readonly string[]): ClientAddress {
  const trusted = networkList(trustedProxies)

  return function clientAddress(peer, headers) {
    const connecting = ipAddress(peer ?? '') ?? ''
    if (trustedProxies.length === 0 || !isIn(trusted, connecting)) return connecting
    const forwardedFor = readChain(headers['x-forwarded-for'], (element) => ipAddress(withoutPort(element)))
    const forwarded = readChain(headers.forwarded, addressOfForwarded)
    const claimed = forwardedFor ?? forwarded
    const isDisputed = forwarded !== undefined && forwarded !== claimed
    return claimed === undefined || claimed === '' || isDisputed ? connecting : claimed
  }

  /** The client according to one header: undefined if the header is absent, '' if the relevant element has no IP address. */
  function readChain(header: HeaderValue, read: (element: string) => string | undefined): string | undefined {
    let furthest: string | undefined
    let count = 0
    for (const element of elementsFromTheRight(header)) {
      const address = ++count > MAX_ELEMENTS ? undefined : read(element)
      if (address === undefined) return ''
      if (!isIn(trusted, address)) return address
      furthest = address
    }
    return furthest
  }
}

/** Whether an address, in the form that `ipAddress` returns, is in one of the networks. */
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
 * The elements of a list header, last first, without empty ones (RFC 9110 §5.6.1). Commas in quoted strings do not separate.
 * Scans backwards, so that the part from the client, on the left, cannot change how the proxies' part is read.
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
    if (element !== '') yield element.length > MAX_ELEMENT_LENGTH ? 'too long' : element
    end = index
  }
}

/** Whether an odd number of backslashes precedes the character. */
function isEscaped(text: string, index: number): boolean {
  let first = index
  while (text[first - 1] === '\\') first -= 1
  return (index - first) % 2 === 1
}

const PAIR = /\s*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]*))\s*(?:;|$)/y

/** The address of the only `for` of an element (RFC 7239 §4, §6). Accepts a bracketed address without quotes as well. */
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
 * The canonical form of an IP address: without zone, an IPv4-mapped IPv6 address as IPv4, IPv6 as in RFC 5952. Undefined for
 * any other text.
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
