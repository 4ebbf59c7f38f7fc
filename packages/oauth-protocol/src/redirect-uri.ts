/** An http URI on the loopback interface: host, port, path and query. Nothing may be between host and port. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)$/

/**
 * Whether a redirect URI is one of the registered ones: the same string, character by character (RFC 9700 §2.1). The one
 * exception is the port of an http loopback address, which a native app gets from its system (RFC 8252 §7.3).
 */
export function isRegisteredRedirectUri(given: string, registered: readonly string[]): boolean {
  return registered.includes(given) || registered.some((uri) => differsInLoopbackPortOnly(given, uri))
}

function differsInLoopbackPortOnly(given: string, registered: string): boolean {
  const registeredParts = LOOPBACK.exec(registered)
  const givenParts = LOOPBACK.exec(given)
  if (registeredParts === null || givenParts === null) return false
  const isSameHostAndPath = registeredParts[1] === givenParts[1] && registeredParts[3] === givenParts[3]
  return isSameHostAndPath && Number(givenParts[2] ?? 80) <= 65535
}

/** A private-use scheme is a reversed domain name, so it has a dot (RFC 8252 §7.1). `javascript:` and `data:` have none. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/
const CONTROL_OR_SPACE = /[\p{Cc}\s]/u
/** A domain name or IP address. URLs allow more characters, for example `;` and `,`, which could extend a header or policy that names the host. */
const WEB_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/
/** URL parsers drop an empty user name, so this is matched against the text. */
const USER = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*@/i

/** Parameters that the response adds. If one were repeated, a client could not know which is ours (RFC 6749 §3.1). */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri']

export type RedirectUriProblem =
  | 'not_ascii'
  | 'idn_host'
  | 'too_long'
  | 'delimiters'
  | 'wildcard'
  | 'fragment'
  | 'not_absolute'
  | 'response_parameter'
  | 'user_name'
  | 'upper_case_scheme'
  | 'scheme'
  | 'other_spelling'
  | 'host'

/**
 * Why a redirect URI must not be registered; undefined when it may be registered.
 * Exact comparison is safe only for URIs with one spelling and one destination.
 * @property detail the parameter of `response_parameter`, the URI to use of `idn_host` and `other_spelling`, else empty
 */
export function redirectUriProblem(uri: string): { problem: RedirectUriProblem; detail: string } | undefined {
  const found = (problem: RedirectUriProblem, detail = '') => ({ problem, detail })
  if (!PRINTABLE_ASCII.test(uri)) {
    const ascii = asciiFormOf(uri)
    return ascii === undefined ? found('not_ascii') : found('idn_host', ascii)
  }
  if (uri.length > 2000) return found('too_long')
  if (/[\\"<>^`{|}]/.test(uri)) return found('delimiters')
  if (uri.includes('*')) return found('wildcard')
  if (uri.includes('#')) return found('fragment')
  if (!URL.canParse(uri)) return found('not_absolute')
  const url = new URL(uri)
  const reserved = RESPONSE_PARAMETERS.find((name) => url.searchParams.has(name))
  if (reserved !== undefined) return found('response_parameter', reserved)
  if (USER.test(uri)) return found('user_name')
  if (PRIVATE_USE_SCHEME.test(url.protocol))
    return uri.startsWith(url.protocol) ? undefined : found('upper_case_scheme')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(uri))) return found('scheme')
  if (uri !== url.href && `${uri}/` !== url.href) return found('other_spelling', url.href)
  return WEB_HOST.test(url.hostname) ? undefined : found('host')
}

/**
 * Parses a URL that may have characters outside ASCII; undefined if it is none. `URL.canParse` of Node 20 returns false for some
 * of these once the call is compiled.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Returns a URI with an internationalized host as requests contain it, with `xn--…` (RFC 5890 §2.3.2.1). */
function asciiFormOf(uri: string): string | undefined {
  if (CONTROL_OR_SPACE.test(uri)) return undefined
  const { hostname = '', href } = parseUrl(uri) ?? {}
  return hostname.includes('xn--') && !uri.toLowerCase().includes(hostname) ? href : undefined
}

const OBJECTIONS: Readonly<Record<RedirectUriProblem, (detail: string) => string>> = {
  not_ascii: () => 'must be printable ASCII without spaces',
  idn_host: (ascii) => `must be printable ASCII, with the host in its xn-- form: ${ascii}`,
  too_long: () => 'must not be longer than 2000 characters',
  delimiters: () => 'must not have backslashes, quotes, brackets or braces',
  wildcard: () => 'must not have wildcards',
  fragment: () => 'must not have a fragment (RFC 6749 §3.1.2)',
  not_absolute: () => 'is not an absolute URI',
  response_parameter: (name) => `must not have ${name} in its query: the response adds it`,
  user_name: () => 'must not have a user name',
  upper_case_scheme: () => 'must write its scheme in lower case',
  scheme: () => 'must be https, http on 127.0.0.1, [::1] or localhost, or a private-use scheme with a dot in it',
  other_spelling: (normal) => `must be written in its normal form, ${normal}`,
  host: () => 'must have a host of letters, digits, dots and hyphens'
}

/** Why a redirect URI must not be registered, as English text for operators; undefined when it may be registered. */
export function objectionToRedirectUri(uri: string): string | undefined {
  const found = redirectUriProblem(uri)
  return found === undefined ? undefined : OBJECTIONS[found.problem](found.detail)
}

/** Hosts that browsers resolve to the device itself (RFC 6761 §6.3). */
const OWN_DEVICE = /^(?:(?:[a-z0-9._-]+\.)?localhost\.?|127(?:\.[0-9]+){3}|\[::1\])$/

/**
 * Whether a program on the user's own device receives the response. Unlike `redirectTarget`, which only knows the addresses of
 * native apps, this includes https and all loopback hosts: any local program can listen there, too.
 */
export function leadsToOwnDevice(uri: string): boolean {
  const target = redirectTarget(uri)
  return target.kind === 'app' || OWN_DEVICE.test(new URL(uri).hostname)
}

/** The destination of the response, for pages: an origin, or the scheme of an app. */
export function redirectTarget(
  uri: string
): { kind: 'web' | 'loopback'; origin: string; host: string } | { kind: 'app'; scheme: string } {
  const url = new URL(uri)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { kind: 'app', scheme: url.protocol }
  return { kind: LOOPBACK.test(uri) ? 'loopback' : 'web', origin: url.origin, host: url.host }
}
