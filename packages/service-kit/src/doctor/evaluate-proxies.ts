import { isIP } from 'node:net'
import { ipAddress } from '../server/client-address.js'
import { type Finding, fatal, ok, warning } from './finding.js'

const CHECK = 'TRUSTED_PROXIES'

/**
 * Whether the service can know the addresses of its clients.
 * @param networks undefined: not set; empty: set to `none`, so no proxy is in front
 * @param publicUrl the address under which clients know this service, and the setting that names it
 */
export function evaluateProxies(
  networks: readonly string[] | undefined,
  publicUrl: { setting: string; url: string }
): Finding {
  if (networks === undefined) return evaluateMissing(publicUrl)
  if (networks.length === 0) return ok(CHECK, 'is none: no proxy in front')
  const wide = networks.filter(isWide)
  if (wide.length === 0) return ok(CHECK, `lists ${networks.length}`)
  return warning(CHECK, {
    what: `trusts too many addresses: ${wide.join(', ')}`,
    why: 'A client with such an address can claim any other address, and so bypass every limit by address.',
    fix: 'list only the addresses or networks of your proxies'
  })
}

/** The service itself has no TLS, so an https URL needs a proxy in front. */
function evaluateMissing({ setting, url }: { setting: string; url: string }): Finding {
  if (!url.startsWith('https:')) return ok(CHECK, 'is not set; without https no proxy is needed')
  return fatal(CHECK, {
    what: `is not set, but ${setting} is https, so a proxy in front must terminate TLS`,
    why: 'All clients would appear with the address of the proxy: they would share each limit, and the audit log would show no client addresses.',
    fix: 'set TRUSTED_PROXIES to the addresses or networks of that proxy, such as 10.0.0.0/8, or to none if there is no proxy in front'
  })
}

/** Whether a network is larger than any network of proxies. */
function isWide(network: string): boolean {
  const [address = '', prefix] = network.split('/')
  if (prefix === undefined) return false
  if (isIP(address) === 4) return Number(prefix) < 8
  // fc00::/7 is the private space of IPv6 (RFC 4193), fe80::/10 that of one link.
  const isPrivate = /^(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):/.test(ipAddress(address) ?? '') && Number(prefix) >= 7
  return Number(prefix) < 24 && !isPrivate
}
