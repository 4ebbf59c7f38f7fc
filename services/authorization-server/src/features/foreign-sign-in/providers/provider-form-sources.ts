const LOOPBACK = ['http://127.0.0.1:*', 'http://localhost:*']

/**
 * The `form-action` sources without which browsers block the redirects after signing out at the provider. Besides the provider
 * they contain any https address, and for a provider on loopback any port, because browsers apply our policy also to the
 * redirects of the provider. Browsers ignore an IPv6 address as a source, so for such a provider only the scheme is named.
 */
export function providerFormSources(issuer: string): readonly string[] {
  const { protocol, hostname, origin } = new URL(issuer)
  const isIpv6 = hostname.startsWith('[')
  if (protocol === 'http:') return isIpv6 ? ['http:', 'https:'] : [...LOOPBACK, 'https:']
  return isIpv6 ? ['https:'] : [origin, 'https:']
}
