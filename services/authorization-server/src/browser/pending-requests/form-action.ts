import type { redirectTarget } from '@valetkey/oauth-protocol'

const LOOPBACK = ['http://127.0.0.1:*', 'http://localhost:*']

/**
 * The sources that `form-action` must name so that the redirect after Allow is not blocked. Beside the target itself, any
 * https address, and for a loopback target any port: its callback may itself redirect on, and browsers hold that hop to
 * our policy too. Browsers know no IPv6 address as a source and would pass over it, so there only the scheme is left.
 */
export function formActionSources(target: ReturnType<typeof redirectTarget>): readonly string[] {
  if (target.kind === 'app') return [target.scheme]
  const isIpv6 = target.host.startsWith('[')
  if (target.kind === 'loopback') return isIpv6 ? ['http:', 'https:'] : [...LOOPBACK, 'https:']
  return isIpv6 ? ['https:'] : [target.origin, 'https:']
}
