// A minimal file list behind introspection: one call, one statement, and the rows through Fastify's serializer. It is also
// used with the peers, which have no resource server.
import { fastify } from 'fastify'
import pg from 'pg'
import { Pool } from 'undici'

const { PORT, DATABASE_URL, INTROSPECTION_URL, CALLER_ID, CALLER_SECRET, SCOPE } = process.env
const introspection = new URL(INTROSPECTION_URL)
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const authorizationServer = new Pool(introspection.origin, { connections: 32 })
const headers = {
  accept: 'application/json',
  authorization: `Basic ${Buffer.from(`${CALLER_ID}:${CALLER_SECRET}`).toString('base64')}`,
  'content-type': 'application/x-www-form-urlencoded'
}

const LIST = `select id, name, size, content_type, created_at from floor_files
  where owner_id = $1 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit 50`
const FIRST_PAGE = ['2100-01-01', 'ffffffff-ffff-ffff-ffff-ffffffffffff']

const text = { type: 'string' }
const file = {
  type: 'object',
  properties: { id: text, name: text, size: text, content_type: text, created_at: { ...text, format: 'date-time' } }
}
const page = { type: 'object', properties: { files: { type: 'array', items: file } } }

const server = fastify()
server.get('/v1/files', { schema: { response: { 200: page } } }, async (request, reply) => {
  const { authorization = '' } = request.headers
  if (!authorization.startsWith('Bearer ')) return reply.code(401).send()
  const token = await introspect(authorization.slice('Bearer '.length))
  if (!token.active) return reply.code(401).send()
  if (!` ${token.scope} `.includes(` ${SCOPE} `)) return reply.code(403).send()
  const { rows } = await database.query({ name: 'list', text: LIST, values: [token.sub, ...FIRST_PAGE] })
  return { files: rows }
})
server.get('/readyz', async () => 'ok')
await database.query('select 1')
await server.listen({ host: '127.0.0.1', port: Number(PORT) })

async function introspect(token) {
  const body = `token=${encodeURIComponent(token)}`
  const answer = await authorizationServer.request({ method: 'POST', path: introspection.pathname, headers, body })
  return answer.body.json()
}
