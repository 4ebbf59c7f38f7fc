// oidc-provider for the same operations: a confidential client, one scope, no ID or refresh token, opaque access tokens.
import { createServer } from 'node:http'
import { Redis } from 'ioredis'
import pg from 'pg'
import { providerAdapter } from './oidc-provider-stores.mjs'

const { PORT, DATABASE_URL, REDIS_URL, USER_ID } = process.env
const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SCOPE, CALLER_ID, CALLER_SECRET } = process.env
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const redis = new Redis(REDIS_URL)
const { Provider } = await import('oidc-provider')

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  adapter: await providerAdapter(database, redis),
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: SCOPE
    },
    {
      client_id: CALLER_ID,
      client_secret: CALLER_SECRET,
      redirect_uris: [],
      grant_types: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_basic'
    }
  ],
  scopes: [SCOPE],
  findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  features: { devInteractions: { enabled: false }, introspection: { enabled: true } },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  cookies: { keys: ['a-key-for-the-cookies-of-a-benchmark'] },
  ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 86_400, Interaction: 600, Session: 86_400 }
})
const answer = provider.callback()

const server = createServer((request, response) => {
  if (request.url === '/readyz') return response.end('ok')
  if (!request.url.startsWith('/interaction/')) return answer(request, response)
  interact(request, response).catch((error) => {
    response.writeHead(500).end(String(error))
  })
})
await Promise.all([database.query('select 1'), redis.ping()])
// The value of Fastify, because connections are idle for seconds between two slices.
server.keepAliveTimeout = 72_000
server.listen(Number(PORT), '127.0.0.1')

/** Signs in and consents without a page; the session remembers both. */
async function interact(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response)
  const result = prompt.name === 'login' ? { login: { accountId: USER_ID } } : { consent: await consent() }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })

  async function consent() {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    return { grantId: await grant.save() }
  }
}
