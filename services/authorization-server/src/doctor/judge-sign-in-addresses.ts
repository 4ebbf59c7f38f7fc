import { type Finding, ipAddress, networkMatcher, ok, warning } from '@valetkey/service-kit'

const CHECK = 'addresses of sign-ins'

/**
 * Whether the proxies name the clients: if they do, some sign-in comes from an address that is not a proxy's.
 * @param addresses of recent sign-ins, as the audit table has them
 */
export function judgeSignInAddresses(addresses: readonly string[], trustedProxies: readonly string[]): Finding {
  if (addresses.length === 0) return ok(CHECK, 'no sign-in in the last day')
  const isProxy = networkMatcher(trustedProxies)
  const isOfClient = (text: string) => {
    const address = ipAddress(text)
    return address !== undefined && !isProxy(address)
  }
  if (addresses.some(isOfClient)) return ok(CHECK, `tell clients apart (${addresses.length} looked at)`)
  return warning(CHECK, {
    what: `all ${addresses.length} of the last day are within TRUSTED_PROXIES or are not IP addresses`,
    why: 'The proxy does not name its clients, so they share each limit; or clients are within the trusted networks, and can name any address.',
    mend: 'have the proxy set X-Forwarded-For or Forwarded to the IP address of its client and remove the other header, and name only proxies in TRUSTED_PROXIES'
  })
}
