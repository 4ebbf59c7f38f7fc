import { createHash } from 'node:crypto'
import type { CookieSerializeOptions } from '@fastify/cookie'

/** Names of the cookies of this server, and the attributes of all of them. */
export type CookiePolicy = {
  names: { browser: string; session: string; knownAccounts: string; lastWay: string; accountLink: string }
  attributes: CookieSerializeOptions
}

/**
 * The names depend on the issuer: browsers send the cookies of a host to all its ports and paths, so two issuers on one host
 * would end each other's sessions. With an https issuer the names begin with `__Host-`: browsers accept such a cookie only with Secure, without Domain and
 * with the path `/`, so another subdomain cannot set it. On http loopback the names are plain, because Safari drops Secure
 * cookies there.
 */
export function cookiePolicy(issuer: string): CookiePolicy {
  const secure = issuer.startsWith('https:')
  const named = (name: string) => `${secure ? '__Host-' : ''}vk_${name}_${tagOf(issuer)}`
  return {
    names: {
      browser: named('browser'),
      session: named('session'),
      knownAccounts: named('known'),
      lastWay: named('way'),
      accountLink: named('link')
    },
    // Lax and not Strict, because the browser comes to /oauth/authorize from another site.
    attributes: { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }
}

/** Eight hexadecimal digits: the same for every process and version. */
function tagOf(issuer: string): string {
  return createHash('sha256').update(issuer).digest('hex').slice(0, 8)
}
