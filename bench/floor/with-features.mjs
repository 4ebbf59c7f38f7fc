// The coalesced floor with the features of Valetkey, each in its cheapest form: a log line and a counter for each request, the
// headers of its pages and responses, the session and the remembered consent in one statement, codes with a binding, a tombstone
// and a MAC, a row for each grant, and audit rows. It has no other checks, no limits and no error handling.
import { createHmac, createSecretKey, hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import formbody from '@fastify/formbody'
import { fastify, LogController } from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'
import { pino, stdTimeFunctions } from 'pino'
import { linesOnceATurn, redisOnceATurn } from './once-a-turn.mjs'
import { active, issued } from './response-schemas.mjs'
import { createRows, hexOf } from './rows-with-features.mjs'
import { coalesced } from './tokens.mjs'

const { PORT, DATABASE_URL, REDIS_URL } = process.env
const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, CALLER_ID, CALLER_SECRET } = process.env
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
const redis = redisOnceATurn(new Redis(REDIS_URL))
const tokens = coalesced(database)
const rows = createRows(database)
const macKey = createSecretKey(randomBytes(32))
let pool = Buffer.alloc(0)

const hashOf = (secret) => hash('sha256', secret, 'buffer')
const secrets = new Map([
  [CLIENT_ID, hashOf(CLIENT_SECRET)],
  [CALLER_ID, hashOf(CALLER_SECRET)]
])

const JSON_HEADERS = { 'cache-control': 'no-store', pragma: 'no-cache', 'access-control-allow-origin': '*' }
const PAGE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

const server = fastify({
  loggerInstance: pino(
    { level: 'info', base: { service: 'floor' }, timestamp: stdTimeFunctions.isoTime },
    linesOnceATurn()
  ),
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID()
})
server.register(formbody)
server.addHook('onRequest', (request, reply, done) => {
  reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
  reply.headers(request.method === 'GET' ? PAGE_HEADERS : JSON_HEADERS)
  done()
})
const milliseconds = new Map()
server.addHook('onResponse', (request, reply, done) => {
  const { url: route } = request.routeOptions
  milliseconds.set(route, (milliseconds.get(route) ?? 0) + reply.elapsedTime)
  const { method } = request
  const logged = { event: 'request', method, route, status: reply.statusCode, milliseconds: reply.elapsedTime }
  request.log.info(logged, 'request')
  done()
})

server.get('/authorize', async (request, reply) => {
  const { client_id, redirect_uri, scope, state } = request.query
  const session = /session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
  const allowed = await rows.readConsent({ session: hexOf(session), client: client_id })
  if (allowed?.scope !== scope || client_id !== CLIENT_ID || redirect_uri !== REDIRECT_URI) {
    return reply.code(400).send()
  }
  const { user_id: userId, generation } = allowed
  const code = randomText()
  const key = keyOf(code)
  const record = JSON.stringify({ client_id, redirect_uri, scope, userId, generation })
  await redis.set(key, `issued ${bindingOf(client_id, redirect_uri)} ${macOf(key, record)} ${record}`, 'EX', 60)
  request.log.info({ event: 'code_issued', client_id, user_id: userId, address: request.ip, scope }, 'code issued')
  return reply.redirect(`${redirect_uri}?code=${code}&state=${encodeURIComponent(state)}`, 303)
})

redis.defineCommand('takeCode', {
  numberOfKeys: 1,
  lua: `local record = redis.call('GET', KEYS[1])
    if not record or string.sub(record, 1, 50) ~= 'issued ' .. ARGV[1] then return nil end
    redis.call('SET', KEYS[1], 'taken ' .. string.sub(record, 8), 'PX', 60000)
    return string.sub(record, 52)`
})

server.post('/token', { schema: issued }, async (request, reply) => {
  const { client_id, client_secret, code, redirect_uri } = request.body
  if (!isKnown(client_id, client_secret)) return reply.code(401).send({ error: 'invalid_client' })
  const key = keyOf(code)
  const record = open(key, await redis.takeCode(key, bindingOf(client_id, redirect_uri)))
  if (record === undefined) return reply.code(400).send({ error: 'invalid_grant' })
  const { scope, userId, generation } = record
  const token = randomText()
  const grantId = randomUUID()
  const grant = { grant_id: grantId, client_id, user_id: userId, scope, redirect_uri, generation }
  const isStored = await rows.storeGrant({ ...grant, code_hash: hexOf(code), access_hash: hexOf(token) })
  if (!isStored) return reply.code(400).send({ error: 'invalid_grant' })
  const redeemed = { event: 'code_redeemed', client_id, user_id: userId, address: request.ip, grantId }
  request.log.info(redeemed, 'code redeemed')
  rows.audit({ ...redeemed, occurred_at: new Date(), request_id: request.id })
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
await Promise.all([rows.create(process.env), redis.ping()])
await server.listen({ host: '127.0.0.1', port: Number(PORT) })

function isKnown(id, secret = '') {
  const expected = secrets.get(id)
  return expected !== undefined && timingSafeEqual(expected, hashOf(secret))
}

// The record of a code.

function keyOf(code) {
  return `bench:code-with-features:${hash('sha256', code, 'hex')}`
}

function bindingOf(clientId, redirectUri) {
  return hash('sha256', JSON.stringify([clientId, redirectUri, null]), 'base64url')
}

function macOf(key, record) {
  return createHmac('sha256', macKey).update(`${key}\n${record}`).digest('base64url')
}

/** @returns undefined if there is no code, or its MAC is not that of its content */
function open(key, taken) {
  if (typeof taken !== 'string') return undefined
  const [mac, record] = [taken.slice(0, 43), taken.slice(44)]
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, record))) ? JSON.parse(record) : undefined
}

/** 43 random characters. One call of `randomBytes` serves 128 of them. */
function randomText() {
  if (pool.length < 32) pool = randomBytes(4_096)
  const bytes = pool.subarray(0, 32)
  pool = pool.subarray(32)
  return bytes.toString('base64url')
}
