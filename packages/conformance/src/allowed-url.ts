const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Whether a URL's host is this machine by name or address. Other names are not resolved. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}

/**
 * Decides which URLs the program may call. A server's metadata can name any URL; without this rule, the server could make the program call
 * services of the caller's network.
 * @param named the URLs that the caller named; their hosts are allowed
 * @param hosts further host names that the caller allowed
 * @returns the reason why a URL is refused; undefined if it is allowed
 */
export function createUrlRule(named: readonly URL[], hosts: readonly string[]) {
  const allowed = new Set([...named.map(({ hostname }) => hostname), ...hosts])
  const isLocal = named.every(isLoopback)
  return (url: URL): string | undefined => {
    const secure = secureProblem(url)
    if (secure !== undefined) return secure
    if (allowed.has(url.hostname) || (isLocal && isLoopback(url))) return undefined
    return `${url.hostname} is another host; allow it with --allow-host ${url.hostname}`
  }
}

/** @returns why a URL is neither https nor http on loopback; undefined if it is one of them */
export function secureProblem(url: URL): string | undefined {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return undefined
  return `${url.origin === 'null' ? url.protocol : url.origin} is neither https nor http on loopback`
}
