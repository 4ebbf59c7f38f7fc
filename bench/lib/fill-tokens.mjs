// Inserts millions of live access tokens with their grants directly into the tables, spread evenly over the users and over
// the 24 hours in which tokens with a lifetime of one day expire.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expiryBucket, hashToken, newOpaqueAccessToken } from '../../packages/oauth-protocol/dist/index.js'
import { REDIRECT_URI, SCOPE } from './test-data.mjs'

export const HOURS = 24
const HOUR_MS = 3_600_000
/** ACCESS_TOKEN_TTL of the services, in seconds. */
export const LIFETIME = HOURS * 3_600
/** The number of real tokens among them, for requests. */
const SAMPLES = 50_000
/** $2 tokens that expire evenly within the hour $1 since 1970. */
const NEW_ROWS = `select number, md5('grant' || $1 || ' ' || number)::uuid as grant_id,
    to_timestamp($1::int * 3600.0) + floor(number * 3600000.0 / ($2::int + 1)) * interval '1 ms' as expires_at
  from generate_series(1, $2::int) number`

/**
 * @param busyUserId owns every tenth token
 * @returns the samples in random order, and a token of the busy user
 */
export async function fillTokens(databaseUrl, { count, clientId, busyUserId, audience }) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await resetGeneration(client, clientId)
    const users = Math.max(1, Math.floor(count / 10))
    await client.query(
      `insert into users (user_id, username, canonical_name, password_hash, created_at)
        select md5('user' || number)::uuid, 'user-' || number, 'user-' || number, 'none', now() from generate_series(1, $1::int) number`,
      [users]
    )
    // Starts after the next hour, so that no token expires meanwhile.
    const first = expiryBucket(new Date()) + 2
    const samples = []
    await withoutIndexes(client, 'grants', async () => {
      for (let hour = first; hour < first + HOURS; hour++) {
        const rows = Math.ceil(count / HOURS)
        const bucket = expiryBucket(new Date(hour * HOUR_MS), LIFETIME)
        await client.query('select make_access_token_buckets($1, $1)', [bucket])
        await fillGrants(client, { hour, rows, users, clientId, busyUserId, audience })
        samples.push(...(await fillBucket(client, { hour, bucket, rows })))
        if (count > 1_000_000) console.log(`${(hour - first + 1) * rows} tokens …`)
      }
    })
    for (const table of ['grants', 'users']) {
      // Vacuum here, so that autovacuum does not start in the middle of a round.
      await client.query(`alter table ${table} set (autovacuum_enabled = false)`)
      await client.query(`vacuum (analyze) ${table}`)
    }
    await client.query('checkpoint')
    return {
      samples: shuffled(samples.map(({ token }) => token)),
      ofBusyUser: samples.find(({ isBusy }) => isBusy).token
    }
  } finally {
    await client.end()
  }
}

/** The rows of this file have the generation 0; a new client starts with a random one. */
export async function resetGeneration(client, clientId) {
  await client.query('update clients set generation = 0 where client_id = $1', [clientId])
}

/** Tokens that expire in one hour. @returns those for use in requests */
export async function fillBucket(client, { hour, bucket, rows }) {
  const every = Math.max(1, Math.floor((rows * HOURS) / SAMPLES))
  const samples = []
  for (let number = every; number <= rows; number += every) {
    const token = newOpaqueAccessToken(bucket, randomBytes)
    samples.push({ number, token, isBusy: number <= rows / 10 })
  }
  await client.query(
    `insert into access_tokens_${bucket} (token_hash, token_id, grant_id, scope, user_generation, client_generation,
        issued_at, expires_at)
      select coalesce(sample.token_hash, sha256(('token' || grant_id)::bytea)), md5('token' || grant_id)::uuid, grant_id,
        $3, 0, 0, least(now(), expires_at - interval '1 day'), expires_at
      from (${NEW_ROWS}) as new
      left join unnest($4::int[], $5::bytea[]) as sample (number, token_hash) using (number)`,
    [hour, rows, [SCOPE], samples.map(({ number }) => number), samples.map(({ token }) => hashToken(token))]
  )
  return samples
}

/** The grants of these tokens. */
export async function fillGrants(client, { hour, rows, users, clientId, busyUserId, audience }) {
  await client.query(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, newest_scope, created_at, redeemed_at, last_used_at, expires_at)
      select grant_id, $3, case when number <= $2::int / 10 then $4::uuid else md5('user' || 1 + number % $5::int)::uuid end,
        $6, $7, $8, sha256(('code' || grant_id)::bytea), 0, 0,
        (select max(number) from scopes), now(), now(), now(), expires_at
      from (${NEW_ROWS}) as new`,
    [hour, rows, clientId, busyUserId, users, [SCOPE], audience, REDIRECT_URI]
  )
}

/** Creating an index after the inserts is faster than updating it for each row. */
async function withoutIndexes(client, table, work) {
  const { rows: constraints } = await client.query(
    `select quote_ident(conname) as name, pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid = $1::regclass and contype in ('p', 'u')`,
    [table]
  )
  for (const { name } of constraints) await client.query(`alter table ${table} drop constraint ${name}`)
  const { rows: indexes } = await client.query(
    `select indexrelid::regclass as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = $1::regclass`,
    [table]
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  await work()
  for (const { name, definition } of constraints) {
    await client.query(`alter table ${table} add constraint ${name} ${definition}`)
  }
  for (const { definition } of indexes) await client.query(definition)
}

function shuffled(values) {
  for (let last = values.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    ;[values[last], values[other]] = [values[other], values[last]]
  }
  return values
}
