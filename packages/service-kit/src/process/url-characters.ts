const AFTER_AUTHORITY = /^[a-z][a-z+]*:\/\/[^/?#]*(.*)$/is
const PROBLEM =
  'has a character that must be percent-encoded: in a user name, a password or a value, write # as %23, / as %2F, ? as %3F, @ as %40, % as %25 and a space as %20'

/**
 * Whether a password of a URL probably has a character that ends the password for a parser. Without this check, the rest of
 * it would be read as a host, a path or options, and could be quoted as such. @returns undefined, or a problem without any
 * part of the URL
 */
export function problemOfCharacters(url: string): string | undefined {
  const [, rest = ''] = AFTER_AUTHORITY.exec(url) ?? []
  const authority = url.slice(0, url.length - rest.length)
  // An @ after the host: the host was a part of the credentials. A fragment has no meaning.
  return /[@#]/.test(rest) || /\s/.test(authority) || !isDecodable(url) ? PROBLEM : undefined
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
