import { type Finding, ipAddress, networkMatcher, ok, warning } from '@valetkey/service-kit'

const CHECK = 'sign-in addresses'

/**
 * Checks whether the proxies forward client addresses: then some sign-ins have an address that is not a proxy's.
 * @param addresses addresses of recent sign-ins in the audit table
 */
export function evaluateSignInAddresses(addresses: readonly string[], trustedProxies: readonly string[]): Finding {
  if (addresses.length === 0) return ok(CHECK, 'no sign-in in the last day')
  const isProxy = networkMatcher(trustedProxies)
  const isOfClient = (text: string) => {
    const address = ipAddress(text)
    return address !== undefined && !isProxy(address)
  }
  if (addresses.some(isOfClient)) return ok(CHECK, `distinguish clients (${addresses.length} checked)`)
  return warning(CHECK, {
    what: `all ${addresses.length} of the last day are within TRUSTED_PROXIES or are not IP addresses`,
    why: 'Either the proxy does not forward client addresses, so all clients share each limit; or clients are inside the trusted networks and can claim any address.',
    fix: 'configure the proxy to set X-Forwarded-For or Forwarded to the client address and to remove the other header; list only proxies in TRUSTED_PROXIES'
  })
}
