import type { CookieSerializeOptions } from '@fastify/cookie'

/** Cookies of this server: their names, and the attributes that all of them share. */
export type CookiePolicy = {
  names: { browser: string; session: string; knownAccounts: string }
  attributes: CookieSerializeOptions
}

/**
 * With an https issuer the names carry `__Host-`, which browsers accept only with Secure, without Domain and for the whole
 * host: no neighbour can set them. On http loopback the plain names stay, for Safari drops Secure cookies there.
 */
export function cookiePolicy(issuer: string): CookiePolicy {
  const secure = issuer.startsWith('https:')
  const prefix = secure ? '__Host-' : ''
  return {
    names: { browser: `${prefix}vk_browser`, session: `${prefix}vk_session`, knownAccounts: `${prefix}vk_known` },
    // Lax and not Strict: the browser arrives at /oauth/authorize from another site.
    attributes: { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }
}
