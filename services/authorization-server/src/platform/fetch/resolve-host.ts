import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'

export type ResolvedAddress = { address: string; family: 4 | 6 }

/** @throws if the name does not resolve before the signal aborts */
export type ResolveHost = (hostname: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>

const LOOPBACK: readonly ResolvedAddress[] = [{ address: '127.0.0.1', family: 4 }]

/**
 * Resolves a name over DNS. Not with `dns.lookup`: that occupies one of the four threads that also hash passwords, and reads
 * the hosts file and search domains, which can name internal hosts.
 */
export const resolveHost: ResolveHost = async (hostname, signal) => {
  const literal = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(literal)
  if (family !== 0) return [{ address: literal, family: family === 4 ? 4 : 6 }]
  if (hostname === 'localhost') return LOOPBACK
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 })
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    // A dot at the end stops the resolver from appending search domains.
    const found = await Promise.allSettled([resolver.resolve4(`${hostname}.`), resolver.resolve6(`${hostname}.`)])
    const [ipv4, ipv6] = found
    const addresses = [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)]
    if (addresses.length === 0) throw ipv4.status === 'rejected' ? ipv4.reason : new Error(`${hostname} has no address`)
    return addresses
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function addressesOf(result: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
}
