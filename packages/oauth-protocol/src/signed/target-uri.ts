/** Octets that need no encoding (RFC 3986 §2.3). */
const UNRESERVED = /[A-Za-z0-9._~-]/
/** `URL` ignores tabs and line breaks, and reads a backslash as a slash. */
const REFUSED = /[\\\p{Cc}\s]/u
/** Also an empty one, which `URL` does not show. */
const USER_INFORMATION = /^[^/]*\/\/[^/?#]*@/

/**
 * The form of a target URI in which two of them are compared: without query and fragment, normalized (RFC 9449 §4.3, RFC 3986 §6.2.2,
 * §6.2.3).
 * @returns undefined if it is no http or https URI, or has user information
 */
export function comparableTargetUri(uri: string): string | undefined {
  if (REFUSED.test(uri) || !/^https?:\/\//i.test(uri) || !URL.canParse(uri)) return undefined
  if (USER_INFORMATION.test(uri)) return undefined
  const { origin, pathname } = new URL(uri)
  return `${origin}${normalizePath(pathname)}`
}

/** `URL` has removed dot segments and made scheme and host lower case. */
function normalizePath(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return UNRESERVED.test(character) ? character : encoded.toUpperCase()
  })
}
