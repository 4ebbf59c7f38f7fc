/**
 * Scheme, user information, host, port, and the rest of an http or https identifier. The host has no `@`, so that the last `@`
 * of the authority is found without trying each of them: the text comes from anonymous clients.
 */
const IDENTIFIER = /^(https?):\/\/([^/?#]*@)?(\[[^\]/?#@]*\]|[^:/?#[\]@]*)(?::([0-9]*))?(?=[/?#]|$)(.*)$/is

const DEFAULT_PORT: Readonly<Record<string, string>> = { http: '80', https: '443' }

/**
 * The form in which resource identifiers (RFC 8707 §2) are compared: scheme and host in lower case, without the default port,
 * and `/` for an empty path (RFC 3986 §6.2.2.1, §6.2.3). Nothing else changes: many clients parse an identifier as a URL, and
 * this undoes what that does to it, but `/mcp` and `/mcp/` may be two resources.
 * @returns the identifier itself if it is not an http or https URL
 */
export function normalResource(identifier: string): string {
  const [, givenScheme, user = '', host, port = '', rest = ''] = IDENTIFIER.exec(identifier) ?? []
  if (givenScheme === undefined || host === undefined) return identifier
  const scheme = givenScheme.toLowerCase()
  const suffix = port === '' || port === DEFAULT_PORT[scheme] ? '' : `:${port}`
  const path = rest.startsWith('/') ? rest : `/${rest}`
  return `${scheme}://${user}${host.toLowerCase()}${suffix}${path}`
}

/** Whether two resource identifiers name the same resource. */
export function isSameResource(one: string, other: string): boolean {
  return one === other || normalResource(one) === normalResource(other)
}
