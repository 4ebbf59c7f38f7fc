// A small OpenID provider for npm start, so that the sign-in page shows a provider without any configuration. One user, who
// needs no password: for this machine only, never for a deployment.
import { createServer } from 'node:http'
import Provider from 'oidc-provider'

const { DEMO_PROVIDER_ISSUER: issuer, DEMO_PROVIDER_CLIENT: client = '', LISTEN: listen = '' } = process.env
const { id, secret, server: valetkey } = JSON.parse(client)
/** @type {Record<string, object>} */
const users = { casey: { name: 'Casey Example', preferred_username: 'casey' } }

/**
 * @param {string} title
 * @param {string} content
 */
const page = (title, content) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>${title}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:26rem;margin:15vh auto;padding:0 1rem}
button{font:inherit;padding:.6rem 1.2rem}</style>
<main><h1>${title}</h1>${content}</main></html>`

const signInPage = page(
  'Demo provider',
  '<p>This stands in for the provider of your company.</p><form method="post"><button>Sign in as Casey</button></form>'
)
/** @param {string} url */
const expiredPage = (url) => page('Please start again', `<p><a href="${url}">Back to Valetkey</a></p>`)

/**
 * @param {{ body: string }} context
 * @param {string} form
 */
function showSignOut(context, form) {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Sign out here, too</button>'
  context.body = page('Demo provider', `<p>You are signed out of Valetkey.</p>${form}${button}`)
}

/** @param {unknown} _context @param {{ uid: string }} interaction */
const signInPath = (_context, { uid }) => `/sign-in/${uid}`

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: id,
      client_secret: secret,
      redirect_uris: [`${valetkey}/login/with/demo/callback`],
      post_logout_redirect_uris: [`${valetkey}/login?done=signed_out`],
      backchannel_logout_uri: `${valetkey}/login/with/demo/logout`,
      backchannel_logout_session_required: true
    }
  ],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'] },
  cookies: { keys: [secret] },
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
    // The pages of the package load fonts from another site.
    rpInitiatedLogout: { enabled: true, logoutSource: showSignOut }
  },
  // The function of the package refuses addresses of this machine.
  /** @type {(url: string, options: RequestInit & { dispatcher?: unknown }) => Promise<Response>} */
  fetch: (url, { dispatcher: _, ...options }) => fetch(url, options),
  /** @type {(context: unknown, accountId: string) => object | undefined} */
  findAccount: (_context, accountId) =>
    users[accountId] && { accountId, claims: () => ({ sub: accountId, ...users[accountId] }) },
  interactions: { url: signInPath },
  // The only client is Valetkey, which the user of the demo trusts.
  /** @param {{ oidc: any }} context of the package, which has no types */
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
    grant.addOIDCScope('openid profile')
    await grant.save()
    return grant
  },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 86_400, IdToken: 600, Interaction: 3_600, Session: 86_400 }
})
const callback = provider.callback()

const server = createServer(async (request, response) => {
  if (request.url === '/favicon.ico') return response.writeHead(204).end()
  if (!request.url?.startsWith('/sign-in/')) return callback(request, response)
  try {
    if (request.method === 'POST') {
      const login = { accountId: 'casey' }
      return await provider.interactionFinished(request, response, { login })
    }
    await provider.interactionDetails(request, response)
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(signInPage)
  } catch {
    response.writeHead(400, { 'content-type': 'text/html; charset=utf-8' }).end(expiredPage(valetkey))
  }
})

const [, host = '', port] = /^(.*):(\d+)$/.exec(listen) ?? []
server.listen(Number(port), host.replace(/^\[|\]$/g, ''))
process.on('SIGTERM', () => process.exit(0))
