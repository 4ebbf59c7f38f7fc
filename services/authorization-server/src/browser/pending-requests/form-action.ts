import type { redirectTarget } from '@valetkey/oauth-protocol'

const LOOPBACK = ['http://127.0.0.1:*', 'http://localhost:*']

/**
 * The `form-action` sources without which browsers block the redirect after Allow. Besides the target they contain any
 * https address, and for a loopback target any port, because browsers apply our policy also to redirects of the client's
 * callback. Browsers ignore an IPv6 address as a source, so for such a target only the scheme is named.
 */
export function formActionSources(target: ReturnType<typeof redirectTarget>): readonly string[] {
  if (target.kind === 'app') return [target.scheme]
  const isIpv6 = target.host.startsWith('[')
  if (target.kind === 'loopback') return isIpv6 ? ['http:', 'https:'] : [...LOOPBACK, 'https:']
  return isIpv6 ? ['https:'] : [target.origin, 'https:']
}
