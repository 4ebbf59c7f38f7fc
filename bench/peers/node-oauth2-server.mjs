// @node-oauth/oauth2-server in Fastify, as floor/authorization-server.mjs. The library implements the protocol; its model
// stores codes and sessions in Redis and hashes of tokens in Postgres.
import { createHash, timingSafeEqual } from 'node:crypto'
import formbody from '@fastify/formbody'
import OAuth2Server from '@node-oauth/oauth2-server'
import { fastify } from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'

const { PORT, DATABASE_URL, REDIS_URL } = process.env
const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SCOPE, CALLER_ID, CALLER_SECRET } = process.env
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const redis = new Redis(REDIS_URL)

const hashOf = (secret) => createHash('sha256').update(secret).digest()
const isSecret = (given, expected) => timingSafeEqual(hashOf(given), expected)
const [clientSecret, callerSecret] = [CLIENT_SECRET, CALLER_SECRET].map(hashOf)
const client = { id: CLIENT_ID, grants: ['authorization_code'], redirectUris: [REDIRECT_URI] }
const codeKey = (code) => `bench:node-oauth2-code:${code}`

const model = {
  async getClient(id, secret) {
    if (id !== client.id) return undefined
    // The authorization endpoint passes no secret.
    return secret === null || isSecret(secret, clientSecret) ? client : undefined
  },
  async validateScope(_user, _client, scope) {
    return scope?.every((one) => one === SCOPE) ? scope : false
  },
  async saveAuthorizationCode(code, { id }, user) {
    const { authorizationCode, expiresAt, redirectUri, scope } = code
    const record = JSON.stringify({ clientId: id, userId: user.id, expiresAt, redirectUri, scope })
    await redis.set(codeKey(authorizationCode), record, 'EX', 60)
    return { ...code, client, user }
  },
  async getAuthorizationCode(authorizationCode) {
    const record = JSON.parse(await redis.get(codeKey(authorizationCode)))
    if (record === null) return undefined
    const { userId, expiresAt, redirectUri, scope } = record
    return { authorizationCode, expiresAt: new Date(expiresAt), redirectUri, scope, client, user: { id: userId } }
  },
  async revokeAuthorizationCode({ authorizationCode }) {
    return (await redis.del(codeKey(authorizationCode))) === 1
  },
  async saveToken(token, { id }, user) {
    const values = [hashOf(token.accessToken), id, user.id, token.scope.join(' '), token.accessTokenExpiresAt]
    const text = `insert into floor_tokens (token_hash, client_id, user_id, scope, issued_at, expires_at)
      values ($1, $2, $3, $4, now(), $5)`
    await database.query({ name: 'save-token', text, values })
    return { ...token, client, user }
  },
  async getAccessToken(accessToken) {
    const text = `select client_id, user_id, scope, issued_at, expires_at from floor_tokens
      where token_hash = $1 and revoked_at is null`
    const { rows } = await database.query({ name: 'get-token', text, values: [hashOf(accessToken)] })
    const [row] = rows
    if (row === undefined) return undefined
    const { client_id, user_id, scope, issued_at: issuedAt, expires_at: accessTokenExpiresAt } = row
    const owner = { client: { id: client_id }, user: { id: user_id } }
    return { accessToken, accessTokenExpiresAt, issuedAt, scope: scope.split(' '), ...owner }
  }
}

const { Request, Response } = OAuth2Server
const oauth = new OAuth2Server({ model, authorizationCodeLifetime: 60, accessTokenLifetime: 3600 })
const asked = ({ headers, method, query, body }) => new Request({ headers, method, query, body: body ?? {} })

const server = fastify()
server.register(formbody)

server.get('/authorize', async (request, reply) => {
  const response = new Response()
  await oauth.authorize(asked(request), response, { authenticateHandler: { handle: () => signedIn(request) } })
  return reply.code(response.status).headers(response.headers).send()
})

server.post('/token', async (request, reply) => {
  const response = new Response()
  await oauth.token(asked(request), response)
  return reply.code(response.status).headers(response.headers).send(response.body)
})

// The library has no introspection endpoint. This uses its check of a bearer token, after authenticating the caller.
server.post('/introspect', async (request, reply) => {
  const credentials = (request.headers.authorization ?? '').slice('Basic '.length)
  const [id, secret = ''] = Buffer.from(credentials, 'base64').toString().split(':')
  if (id !== CALLER_ID || !isSecret(secret, callerSecret)) return reply.code(401).send({ active: false })
  const headers = { authorization: `Bearer ${request.body.token}` }
  const bearer = new Request({ headers, method: 'GET', query: {}, body: {} })
  const token = await oauth.authenticate(bearer, new Response()).catch(() => undefined)
  if (token === undefined) return { active: false }
  const [iat, exp] = [token.issuedAt, token.accessTokenExpiresAt].map((time) => Math.floor(time.getTime() / 1_000))
  return { active: true, scope: token.scope.join(' '), client_id: token.client.id, sub: token.user.id, iat, exp }
})

server.get('/readyz', async () => 'ok')
await Promise.all([database.query('select 1'), redis.ping()])
await server.listen({ host: '127.0.0.1', port: Number(PORT) })

async function signedIn({ headers }) {
  const session = /session=([\w-]+)/.exec(headers.cookie ?? '')?.[1]
  const id = session && (await redis.get(`bench:session:${session}`))
  return id ? { id } : undefined
}
