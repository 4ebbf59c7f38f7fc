/** An http URI on the loopback interface: host, port, and all that follows. Nothing may stand between host and port. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9][0-9]{0,4}))?((?:[/?].*)?)$/

/**
 * Whether a redirect URI is one of the registered ones: the same string, character by character (RFC 9700 §2.1). The one
 * exception is the port of an http loopback address, which a native app gets from its system (RFC 8252 §7.3).
 */
export function isRegisteredRedirectUri(given: string, registered: readonly string[]): boolean {
  return registered.includes(given) || registered.some((uri) => differsInLoopbackPortOnly(given, uri))
}

function differsInLoopbackPortOnly(given: string, registered: string): boolean {
  const ours = LOOPBACK.exec(registered)
  const theirs = LOOPBACK.exec(given)
  if (ours === null || theirs === null) return false
  return ours[1] === theirs[1] && ours[3] === theirs[3] && Number(theirs[2] ?? 80) <= 65535
}

/** A private-use scheme is a reversed domain name, so it has a dot (RFC 8252 §7.1). `javascript:` and `data:` have none. */
const PRIVATE_USE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/
/** A domain name or an address. URLs allow more, `;` and `,` among it, which would write on in our pages' `form-action`. */
const WEB_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:]+\])$/
/** URL parsers drop an empty user name, so it has to be looked for in the text. */
const USER = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*@/i

/** What the answer appends; a client that found one of them twice could not tell which is ours (RFC 6749 §3.1). */
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri']

/**
 * Why a redirect URI may not be registered, in words for the operator; undefined when it may.
 * Exact comparison only protects when what it compares with is plain: one way to write it, one place it leads to.
 */
export function objectionToRedirectUri(uri: string): string | undefined {
  if (!PRINTABLE_ASCII.test(uri)) return 'must be printable ASCII without blanks'
  if (uri.length > 2000) return 'must not be longer than 2000 characters'
  if (/[\\"<>^`{|}]/.test(uri)) return 'must not hold backslashes, quotes, brackets or braces'
  if (uri.includes('*')) return 'must not hold wildcards'
  if (uri.includes('#')) return 'must not have a fragment (RFC 6749 §3.1.2)'
  if (!URL.canParse(uri)) return 'is not an absolute URI'
  const url = new URL(uri)
  const reserved = RESPONSE_PARAMETERS.find((name) => url.searchParams.has(name))
  if (reserved !== undefined) return `must not have ${reserved} in its query: the answer brings its own`
  if (USER.test(uri)) return 'must not name a user'
  if (PRIVATE_USE_SCHEME.test(url.protocol))
    return uri.startsWith(url.protocol) ? undefined : 'must write its scheme in lower case'
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(uri))) {
    return 'must be https, http on 127.0.0.1, [::1] or localhost, or a private-use scheme with a dot in it'
  }
  if (uri !== url.href && `${uri}/` !== url.href) return `must be written in its normal form, ${url.href}`
  if (!WEB_HOST.test(url.hostname)) return 'must name its host by letters, digits, dots and hyphens'
  return undefined
}

/** Where the answer goes, for people and for `form-action`: an origin, or the scheme of an app. */
export function redirectTarget(
  uri: string
): { kind: 'web' | 'loopback'; origin: string; host: string } | { kind: 'app'; scheme: string } {
  const url = new URL(uri)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { kind: 'app', scheme: url.protocol }
  return { kind: LOOPBACK.test(uri) ? 'loopback' : 'web', origin: url.origin, host: url.host }
}
