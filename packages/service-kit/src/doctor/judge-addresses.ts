import { postgresUrls } from '../postgres-url.js'
import { type Finding, graveInProduction, ok, warning } from './finding.js'

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)
}

/** People from elsewhere can reach it: what is a matter of taste on one's own machine is none there. */
export const isProduction = (issuer: string): boolean => !isLoopback(new URL(issuer).hostname)

/** RFC 6749 §3.1.2.1, §10.9; RFC 9700 §2.6: codes, tokens and passwords travel there. */
export function judgePublicUrl(check: string, url: string): Finding {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:') return ok(check, 'is https')
  if (isLoopback(hostname)) return ok(check, 'is http, and does not leave this machine')
  return graveInProduction(true)(check, {
    what: 'is http, and its host is not this machine',
    why: 'Whoever is on the way reads codes, tokens and passwords (RFC 9700 section 2.6).',
    mend: 'end TLS before the service and set the https address'
  })
}

/** An address that only our own machines use: it may lie in a network that one trusts. */
export function judgeInnerUrl(check: string, { host, tls }: { host: string; tls: boolean }): Finding {
  if (tls) return ok(check, 'is reached by TLS')
  if (isLoopback(host)) return ok(check, 'is on this machine')
  return warning(check, {
    what: `is reached without TLS at ${host}`,
    why: 'Whoever is on the way reads passwords and hashes, and may answer in its place.',
    mend: 'use TLS, or a network that nobody else is in'
  })
}

export function judgePostgresUrl(check: string, url: string): readonly Finding[] {
  return postgresUrls(url).map((one) => {
    const { hostname, searchParams } = new URL(one)
    const mode = searchParams.get('sslmode')
    if (mode === 'no-verify' && !isLoopback(hostname)) {
      return warning(check, {
        what: `does not verify whom it talks to at ${hostname} (sslmode=no-verify)`,
        why: 'Whoever is on the way may answer in its place, and reads everything.',
        mend: 'use sslmode=verify-full, with sslrootcert for an authority of your own'
      })
    }
    return judgeInnerUrl(check, { host: hostname, tls: mode !== null && mode !== 'disable' })
  })
}
