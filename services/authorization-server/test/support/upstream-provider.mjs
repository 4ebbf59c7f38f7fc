import { createServer } from 'node:http'
import { listenOnLoopback } from '../../../../packages/dev-stack/lib/processes/listen.mjs'

/** @typedef {Awaited<ReturnType<typeof startUpstreamProvider>>} UpstreamProvider */

export const UPSTREAM = { clientId: 'valetkey', clientSecret: 'a secret of the upstream provider' }

/**
 * The package oidc-provider with one client. Its user is the `person` of the moment: the interaction signs in and consents
 * without a page.
 * @param {string} issuer of Valetkey, for the registered addresses
 * @param {string} logoutUrl receives logout tokens over the network
 */
export async function startUpstreamProvider(issuer, logoutUrl) {
  // Loaded here and not above, so that the caller can silence its warnings about development.
  const { default: Provider } = await import('oidc-provider')
  let person = 'person-1'
  /** @type {Map<string, Record<string, unknown>>} */
  const users = new Map()
  const server = createServer()
  const address = `http://127.0.0.1:${await listenOnLoopback(server)}`
  const provider = new Provider(address, {
    clients: [
      {
        client_id: UPSTREAM.clientId,
        client_secret: UPSTREAM.clientSecret,
        redirect_uris: [`${issuer}/login/with/upstream/callback`],
        post_logout_redirect_uris: [`${issuer}/login?done=signed_out`],
        backchannel_logout_uri: logoutUrl,
        backchannel_logout_session_required: true
      }
    ],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'] },
    cookies: { keys: ['a key of the upstream provider'] },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    // Its own function refuses loopback addresses.
    /** @type {(url: string, options: RequestInit & { dispatcher?: unknown }) => Promise<Response>} */
    fetch: (url, { dispatcher: _, ...options }) => fetch(url, options),
    /** @type {(context: unknown, accountId: string) => object} */
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...users.get(accountId) }) }),
    /** @param {{ oidc: any }} context of the package, which has no types */
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    },
    interactions: { url: interactionPath },
    ttl: { AccessToken: 600, Grant: 600, Interaction: 60, Session: 600, AuthorizationCode: 60, IdToken: 600 }
  })
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    return provider.interactionFinished(request, response, { login: { accountId: person } })
  })

  return {
    issuer: address,
    /**
     * The user who signs in from now on.
     * @param {string} subject
     * @param {Record<string, unknown>} claims
     */
    is(subject, claims) {
      person = subject
      users.set(subject, claims)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/**
 * @param {unknown} _context
 * @param {{ uid: string }} interaction
 */
const interactionPath = (_context, { uid }) => `/interaction/${uid}`
