import { postgresUrls } from '../postgres/postgres-url.js'
import { type Finding, graveInProduction, ok, warning } from './finding.js'

/**
 * Whether a host is this machine: for addresses in settings and on pages. A redirect URI on the loopback interface has one of three
 * hosts only (`redirectTarget` of oauth-protocol, RFC 8252 §7.3, §8.3).
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)
}

/** Whether other machines can reach the service, so stricter rules apply. */
export const isProduction = (issuer: string): boolean => !isLoopback(new URL(issuer).hostname)

/** The URL carries codes, tokens and passwords (RFC 6749 §3.1.2.1, §10.9; RFC 9700 §2.6). */
export function evaluatePublicUrl(check: string, url: string): Finding {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:') return ok(check, 'is https')
  if (isLoopback(hostname)) return ok(check, 'is http on this machine only')
  return graveInProduction(true)(check, {
    what: 'is http, and its host is not on this machine',
    why: 'An attacker on the network can read codes, tokens and passwords (RFC 9700 section 2.6).',
    fix: 'terminate TLS in front of the service, and set the https address'
  })
}

/** An address that only our own machines use: without TLS it is only a warning, because the network may be trusted. */
export function evaluateInnerUrl(check: string, { host, tls }: { host: string; tls: boolean }): Finding {
  if (tls) return ok(check, 'is reached over TLS')
  if (isLoopback(host)) return ok(check, 'is on this machine')
  return warning(check, {
    what: `is reached without TLS at ${host}`,
    why: 'An attacker on the network can read passwords and hashes, and can impersonate the server.',
    fix: 'use TLS, or a private network'
  })
}

/** In libpq, these modes verify nothing or not the name. */
const PARTIAL_MODES = ['prefer', 'require', 'verify-ca']

export function evaluatePostgresUrl(check: string, url: string): readonly Finding[] {
  return postgresUrls(url).map((one) => {
    const url = new URL(one)
    const mode = url.searchParams.get('sslmode')
    // Without a host, or with the folder of a socket, it is on this machine.
    const isSocket = url.hostname === '' || /^%2f/i.test(url.hostname)
    const hostname = isSocket ? 'localhost' : url.hostname
    const isPartial = url.searchParams.has('uselibpqcompat') && mode !== null && PARTIAL_MODES.includes(mode)
    if ((mode === 'no-verify' || isPartial) && !isLoopback(hostname)) {
      return warning(check, {
        what: `does not fully verify the certificate of ${hostname} (sslmode=${mode})`,
        why: 'An attacker on the network can impersonate the server and read everything.',
        fix: 'use sslmode=verify-full, with sslrootcert for your own certificate authority'
      })
    }
    return evaluateInnerUrl(check, { host: hostname, tls: mode !== null && mode !== 'disable' })
  })
}
