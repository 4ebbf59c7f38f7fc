// A minimal authorization server. Fastify reads the request. A code costs one read of the session and one write, both in
// Redis. An exchange costs one hash of the client's secret, one take from Redis, one token, its hash and one INSERT. An
// introspection costs one hash of the caller's secret, one of the token and one SELECT. COALESCE=1: concurrent requests
// share a statement, and commands to Redis share a write.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import formbody from '@fastify/formbody'
import { fastify } from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'
import { active, issued } from './response-schemas.mjs'
import { coalesced, oneByOne } from './tokens.mjs'

const { PORT, DATABASE_URL, REDIS_URL, COALESCE } = process.env
const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, CALLER_ID, CALLER_SECRET } = process.env
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const redis = new Redis(REDIS_URL, { enableAutoPipelining: COALESCE === '1' })
const tokens = COALESCE === '1' ? coalesced(database) : oneByOne(database)

const hashOf = (secret) => createHash('sha256').update(secret).digest()
const secrets = new Map([
  [CLIENT_ID, hashOf(CLIENT_SECRET)],
  [CALLER_ID, hashOf(CALLER_SECRET)]
])

const server = fastify()
server.register(formbody)

server.get('/authorize', async (request, reply) => {
  const { client_id, redirect_uri, scope, state } = request.query
  const session = /session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1]
  const userId = session && (await redis.get(`bench:session:${session}`))
  if (!userId || client_id !== CLIENT_ID || redirect_uri !== REDIRECT_URI) return reply.code(400).send()
  const code = randomBytes(32).toString('base64url')
  const record = JSON.stringify({ client_id, redirect_uri, scope, userId })
  await redis.set(`bench:floor-code:${code}`, record, 'EX', 60)
  return reply.redirect(`${redirect_uri}?code=${code}&state=${encodeURIComponent(state)}`, 303)
})

server.post('/token', { schema: issued }, async (request, reply) => {
  const { client_id, client_secret, code, redirect_uri } = request.body
  if (!isKnown(client_id, client_secret)) return reply.code(401).send({ error: 'invalid_client' })
  const record = JSON.parse(await redis.getdel(`bench:floor-code:${code}`))
  if (record?.client_id !== client_id || record.redirect_uri !== redirect_uri) {
    return reply.code(400).send({ error: 'invalid_grant' })
  }
  const token = randomBytes(32).toString('base64url')
  const { scope, userId } = record
  await tokens.insert({ hash: hashOf(token), clientId: client_id, userId, scope })
  reply.header('cache-control', 'no-store')
  return { access_token: token, token_type: 'Bearer', expires_in: 3600, scope }
})

server.post('/introspect', { schema: active }, async (request, reply) => {
  const credentials = (request.headers.authorization ?? '').slice('Basic '.length)
  const [id, secret] = Buffer.from(credentials, 'base64').toString().split(':')
  if (!isKnown(id, secret)) return reply.code(401).send({ active: false })
  const token = await tokens.find(hashOf(request.body.token ?? ''))
  if (token === undefined) return { active: false }
  const { client_id, user_id, scope, iat, exp } = token
  return { active: true, scope, client_id, sub: user_id, iat, exp }
})

server.get('/readyz', async () => 'ok')
await Promise.all([database.query('select 1'), redis.ping()])
await server.listen({ host: '127.0.0.1', port: Number(PORT) })

function isKnown(id, secret = '') {
  const expected = secrets.get(id)
  return expected !== undefined && timingSafeEqual(expected, hashOf(secret))
}
