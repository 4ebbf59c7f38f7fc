import { isIP } from 'node:net'
import { ipAddress } from '../client-address.js'
import { type Finding, fatal, ok, warning } from './finding.js'

const CHECK = 'TRUSTED_PROXIES'

/**
 * Whether the address of clients can be known.
 * @param networks undefined: not set; empty: set to `none`, which states that no proxy is in front
 * @param publicUrl the address under which clients know this service, and the setting that names it
 */
export function judgeProxies(
  networks: readonly string[] | undefined,
  publicUrl: { setting: string; url: string }
): Finding {
  if (networks === undefined) return judgeMissing(publicUrl)
  if (networks.length === 0) return ok(CHECK, 'is none: the operator states that no proxy is in front')
  const wide = networks.filter(isWide)
  if (wide.length === 0) return ok(CHECK, `names ${networks.length}`)
  return warning(CHECK, {
    what: `trusts very many addresses: ${wide.join(', ')}`,
    why: 'A client with such an address can name any other address as its own, and so passes every limit by address.',
    mend: 'name the addresses or networks of your proxies only'
  })
}

/** The service itself speaks http. */
function judgeMissing({ setting, url }: { setting: string; url: string }): Finding {
  if (!url.startsWith('https:')) return ok(CHECK, 'is not set, and no proxy is needed without https')
  return fatal(CHECK, {
    what: `is not set, though ${setting} is https, so that a proxy in front has to end TLS`,
    why: 'Every client would seem to have the address of the proxy: they share each limit, and the audit shows no address.',
    mend: 'set TRUSTED_PROXIES to the addresses or networks of that proxy, such as 10.0.0.0/8, or to none if no proxy is in front'
  })
}

/** Wider than any network of proxies: the proxies of a CDN have public addresses, too, but no whole /7. */
function isWide(network: string): boolean {
  const [address = '', prefix] = network.split('/')
  if (prefix === undefined) return false
  if (isIP(address) === 4) return Number(prefix) < 8
  // fc00::/7 is the private space of IPv6 (RFC 4193), fe80::/10 that of one link.
  const isPrivate = /^(?:f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):/.test(ipAddress(address) ?? '') && Number(prefix) >= 7
  return Number(prefix) < 24 && !isPrivate
}
