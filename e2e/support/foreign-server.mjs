// Another authorization server: npm oidc-provider, configured as in its documentation.
import { createServer } from 'node:http'
import { listenOnLoopback } from '../../packages/dev-stack/lib/processes/listen.mjs'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

/**
 * One account, which is signed in and consents without a page.
 * @param {object} settings
 * @param {{ id: string, secret: string, redirectUri: string }} settings.client
 * @param {{ id: string, secret: string }} settings.api which only introspects
 * @param {Record<string, string>} settings.scopesOf each resource
 * @param {readonly object[]} [settings.moreClients] client metadata (RFC 7591 §2)
 */
export async function startForeignServer({ client, api, scopesOf, moreClients = [] }) {
  // Imported here, so that the caller can suppress its warnings about production.
  const { Provider } = await import('oidc-provider')
  const server = createServer()
  const issuer = `http://127.0.0.1:${await listenOnLoopback(server)}`
  const provider = new Provider(issuer, {
    clients: [
      ...moreClients,
      { client_id: client.id, client_secret: client.secret, redirect_uris: [client.redirectUri] },
      // The API, which only introspects.
      { client_id: api.id, client_secret: api.secret, redirect_uris: [], response_types: [], grant_types: [] }
    ],
    // Refresh tokens are issued without the scope offline_access as well.
    /** @type {(context: unknown, receiver: { grantTypeAllowed(type: string): boolean }) => boolean} */
    issueRefreshToken: (_context, receiver) => receiver.grantTypeAllowed('refresh_token'),
    /** @type {(context: unknown, id: string) => object} */
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    features: {
      devInteractions: { enabled: false },
      // Tokens are bound if the client sends a proof.
      dPoP: { enabled: true },
      introspection: {
        enabled: true,
        /** @type {(context: unknown, caller: { clientId: string }) => boolean} */
        allowedPolicy: (_context, caller) => caller.clientId === api.id
      },
      resourceIndicators: {
        enabled: true,
        /** @type {(context: unknown, resource: string) => object} */
        getResourceServerInfo: (_context, resource) => ({
          scope: scopesOf[resource],
          audience: resource,
          accessTokenFormat: 'opaque'
        }),
        useGrantedResource: () => true
      },
      revocation: { enabled: true, allowedPolicy: () => true }
    },
    interactions: { url: interactionPath },
    cookies: { keys: ['a-key-for-cookies'] },
    ttl: { AccessToken: 600, Grant: 600, Interaction: 60, Session: 600, AuthorizationCode: 60, IdToken: 600 }
  })
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    return interact(provider, request, response)
  })
  return {
    issuer,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/**
 * @param {any} provider of the package, which has no types
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 */
async function interact(provider, request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response)
  const answer = prompt.name === 'login' ? { login: { accountId: 'alice' } } : { consent: await consent() }
  await provider.interactionFinished(request, response, answer)

  async function consent() {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    grant.addResourceScope(params.resource, params.scope)
    return { grantId: await grant.save() }
  }
}

/**
 * @param {unknown} _context
 * @param {{ uid: string }} interaction
 */
const interactionPath = (_context, { uid }) => `/interaction/${uid}`
