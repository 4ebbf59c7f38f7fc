// Adapters of oidc-provider: access tokens in Postgres, all other records in Redis.
import { createHash } from 'node:crypto'

const TABLE = `create table if not exists provider_tokens (
    token_hash bytea primary key, grant_id text, payload jsonb not null, expires_at timestamptz not null
  );
  create index if not exists provider_tokens_grant_id on provider_tokens (grant_id)`

// Deleted with their grant.
const OF_A_GRANT = [
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
  'DeviceCode',
  'BackchannelAuthenticationRequest'
]
// Can be used once.
const CONSUMABLE = ['AuthorizationCode', 'RefreshToken', 'DeviceCode', 'BackchannelAuthenticationRequest']

export async function providerAdapter(database, redis) {
  await database.query(TABLE)
  return (model) => (model === 'AccessToken' ? tokensInPostgres(database) : inRedis(redis, model))
}

function tokensInPostgres(database) {
  const hashOf = (id) => createHash('sha256').update(id).digest()
  const run = async (name, text, values) => (await database.query({ name, text, values })).rows
  return {
    upsert: (id, payload, seconds) =>
      run(
        'upsert',
        `insert into provider_tokens (token_hash, grant_id, payload, expires_at)
          values ($1, $2, $3, now() + make_interval(secs => $4))
          on conflict (token_hash) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
        [hashOf(id), payload.grantId, JSON.stringify(payload), seconds]
      ),
    async find(id) {
      const text = 'select payload from provider_tokens where token_hash = $1 and expires_at > now()'
      const [row] = await run('find', text, [hashOf(id)])
      return row?.payload
    },
    destroy: (id) => run('destroy', 'delete from provider_tokens where token_hash = $1', [hashOf(id)]),
    revokeByGrantId: (grantId) => run('revoke', 'delete from provider_tokens where grant_id = $1', [grantId])
  }
}

function inRedis(redis, model) {
  const keyOf = (id) => `bench:provider:${model}:${id}`
  const isConsumable = CONSUMABLE.includes(model)

  async function find(id) {
    if (!id) return undefined
    if (!isConsumable) return JSON.parse(await redis.get(keyOf(id))) ?? undefined
    const { payload, consumed } = await redis.hgetall(keyOf(id))
    if (payload === undefined) return undefined
    return { ...JSON.parse(payload), ...(consumed && { consumed: Number(consumed) }) }
  }

  return {
    find,
    findByUid: async (uid) => find(await redis.get(`bench:provider:uid:${uid}`)),
    findByUserCode: async (userCode) => find(await redis.get(`bench:provider:user-code:${userCode}`)),
    async upsert(id, payload, seconds) {
      const { grantId, uid, userCode } = payload
      const commands = redis.multi()
      if (isConsumable) commands.hset(keyOf(id), 'payload', JSON.stringify(payload)).expire(keyOf(id), seconds)
      else commands.set(keyOf(id), JSON.stringify(payload), 'EX', seconds)
      if (grantId && OF_A_GRANT.includes(model)) {
        commands.rpush(`bench:provider:grant:${grantId}`, keyOf(id)).expire(`bench:provider:grant:${grantId}`, 86_400)
      }
      if (uid) commands.set(`bench:provider:uid:${uid}`, id, 'EX', seconds)
      if (userCode) commands.set(`bench:provider:user-code:${userCode}`, id, 'EX', seconds)
      await commands.exec()
    },
    consume: (id) => redis.hset(keyOf(id), 'consumed', Math.floor(Date.now() / 1_000)),
    destroy: (id) => redis.del(keyOf(id)),
    async revokeByGrantId(grantId) {
      const key = `bench:provider:grant:${grantId}`
      await redis.del(key, ...(await redis.lrange(key, 0, -1)))
    }
  }
}
