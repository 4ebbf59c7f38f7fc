import { isClientIdentifier } from './client.js'

const MAX_LENGTH = 500
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/
/** Scheme, authority and path of the text as sent. URL parsers remove or change parts of it. */
const PARTS = /^https:\/\/([^/?#]*)(.*)$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

type Rule = {
  /** Whether the host may be on the loopback interface. Only for tests and development. */
  allowsLoopback: boolean
}

/**
 * Why a URL cannot be a client id (draft-ietf-oauth-client-id-metadata-document-02 §3); undefined if it can. A client id is
 * compared as text, so it must have one spelling and one destination.
 */
export function objectionToClientIdUrl(id: string, { allowsLoopback }: Rule): string | undefined {
  if (id.length > MAX_LENGTH) return `must not be longer than ${MAX_LENGTH} characters`
  if (!PRINTABLE_ASCII.test(id) || /[\\"<>^`{|}]/.test(id))
    return 'must be printable ASCII of a URL, without backslashes'
  const [, authority, path] = PARTS.exec(id) ?? []
  if (authority === undefined || path === undefined) return 'must begin with https://'
  if (/[?#]/.test(path)) return 'must have neither query nor fragment'
  if (authority.includes('@')) return 'must not have a user name'
  if (path === '' || path === '/') return 'must have a path'
  if (!path.split('/').every(isPlainSegment)) return 'must not have dot segments or encoded slashes in its path'
  if (!URL.canParse(id) || new URL(id).href !== id) return 'must be in the normal form of a URL'
  const { hostname } = new URL(id)
  if (LOOPBACK_HOSTS.has(hostname)) return allowsLoopback ? undefined : 'must not be on the loopback interface'
  return isDomainName(hostname) ? undefined : 'must have a domain name with a dot as its host'
}

/** Whether the text has the form of a client id URL, on the loopback interface or not. */
export function isClientIdUrl(value: string): boolean {
  return objectionToClientIdUrl(value, { allowsLoopback: true }) === undefined
}

/** Whether the text has the form of a client id: one that an operator registered, or the URL of a metadata document. */
export function isClientId(value: string): boolean {
  return isClientIdentifier(value) || isClientIdUrl(value)
}

/** Servers decode a segment in different ways: its decoded form must also be one segment, and no dot segment. */
function isPlainSegment(segment: string): boolean {
  try {
    const decoded = decodeURIComponent(segment)
    return decoded !== '.' && decoded !== '..' && !/[/\\\p{Cc}]/u.test(decoded)
  } catch {
    return false
  }
}

function isDomainName(hostname: string): boolean {
  const labels = hostname.split('.')
  // A host whose last label is a number is an IPv4 address (WHATWG URL §3.5).
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && !/^[0-9]+$/.test(labels.at(-1) ?? '')
}
