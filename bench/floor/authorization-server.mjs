// The least that introspection can be: Fastify reads the form, one hash proves the caller, one statement finds the token.
import { createHash, timingSafeEqual } from 'node:crypto'
import formbody from '@fastify/formbody'
import { fastify } from 'fastify'
import pg from 'pg'

const { PORT, DATABASE_URL, CALLER_ID, CALLER_SECRET } = process.env
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const digest = (text) => createHash('sha256').update(text).digest()
const callers = new Map([[CALLER_ID, digest(CALLER_SECRET)]])

const FIND = `select client_id, user_id, scope, extract(epoch from issued_at)::int as iat,
    extract(epoch from expires_at)::int as exp
  from floor_tokens where token_hash = $1 and expires_at > now() and revoked_at is null`

const text = { type: 'string' }
const number = { type: 'integer' }
const answer = {
  type: 'object',
  properties: { active: { type: 'boolean' }, scope: text, client_id: text, sub: text, iat: number, exp: number }
}

const server = fastify()
server.register(formbody)
server.post('/introspect', { schema: { response: { 200: answer } } }, async (request, reply) => {
  if (!isKnown(request.headers.authorization ?? '')) return reply.code(401).send({ active: false })
  const values = [digest(request.body?.token ?? '')]
  const { rows } = await database.query({ name: 'find', text: FIND, values })
  const [token] = rows
  if (token === undefined) return { active: false }
  const { client_id, user_id, scope, iat, exp } = token
  return { active: true, scope, client_id, sub: user_id, iat, exp }
})
server.get('/readyz', async () => 'ok')
await server.listen({ host: '127.0.0.1', port: Number(PORT) })

function isKnown(authorization) {
  const [id, secret = ''] = Buffer.from(authorization.slice('Basic '.length), 'base64').toString().split(':')
  const expected = callers.get(id)
  return expected !== undefined && timingSafeEqual(expected, digest(secret))
}
