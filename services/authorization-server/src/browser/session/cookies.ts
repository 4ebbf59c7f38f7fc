import type { CookieSerializeOptions } from '@fastify/cookie'

/** Names of the cookies of this server, and the attributes of all of them. */
export type CookiePolicy = {
  names: { browser: string; session: string; knownAccounts: string; lastWay: string; accountLink: string }
  attributes: CookieSerializeOptions
}

/**
 * With an https issuer the names begin with `__Host-`: browsers accept such a cookie only with Secure, without Domain and
 * with the path `/`, so another subdomain cannot set it. On http loopback the names are plain, because Safari drops Secure
 * cookies there.
 */
export function cookiePolicy(issuer: string): CookiePolicy {
  const secure = issuer.startsWith('https:')
  const prefix = secure ? '__Host-' : ''
  return {
    names: {
      browser: `${prefix}vk_browser`,
      session: `${prefix}vk_session`,
      knownAccounts: `${prefix}vk_known`,
      lastWay: `${prefix}vk_way`,
      accountLink: `${prefix}vk_link`
    },
    // Lax and not Strict, because the browser comes to /oauth/authorize from another site.
    attributes: { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }
}
