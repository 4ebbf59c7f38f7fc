// Fills the tables of the authorization server as after weeks of use: users, grants, refresh tokens and access tokens, with
// their indexes in place, so that index pages are as full as after random inserts.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expiryBucket, hashToken, newOpaqueToken } from '../../packages/oauth-protocol/dist/index.js'
import { hashPassword } from '../../services/authorization-server/dist/platform/passwords/password.js'
import { resetGeneration } from '../lib/fill-tokens.mjs'
import { administer } from '../lib/stores.mjs'
import { REDIRECT_URI, SCOPE } from '../lib/test-data.mjs'

/** The password of every user. */
export const PASSWORD = 'correct horse battery staple'
export const usernameOf = (number) => `user-${number}`
/** The number of real refresh tokens among the rows, for requests. */
const SAMPLES = 10_000

/**
 * @param rows how many users, each with a grant, a refresh token and an access token
 * @param lifetime of access tokens in seconds; their tables are those into which the requests of the next hour write
 * @returns refresh tokens that can be used, in random order of their rows
 */
export async function fillRows(databaseUrl, { rows, clientId, audience, lifetime }) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await resetGeneration(client, clientId)
    await client.query(
      `insert into users (user_id, username, canonical_name, password_hash, created_at)
        select md5('user' || number)::uuid, 'user-' || number, 'user-' || number, $2, now() from generate_series(1, $1::int) number`,
      [rows, await hashPassword(PASSWORD)]
    )
    await client.query(
      `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
          client_generation, newest_scope, created_at, redeemed_at, last_used_at, refreshable_until, expires_at)
        select md5('grant' || number)::uuid, $2, md5('user' || number)::uuid, $3, $4, $5, sha256(('code' || number)::bytea),
          0, 0, (select max(number) from scopes), now(), now(), now(), now() + interval '90 days', now() + interval '14 days'
        from generate_series(1, $1::int) number`,
      [rows, clientId, [SCOPE], audience, REDIRECT_URI]
    )
    const samples = sampleTokens(rows)
    await client.query(
      `insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at)
        select coalesce(sample.token_hash, sha256(('refresh' || number)::bytea)), md5('grant' || number)::uuid, 0, 0, now(),
          now() + interval '14 days'
        from generate_series(1, $1::int) number
        left join unnest($2::int[], $3::bytea[]) as sample (number, token_hash) using (number)`,
      [rows, samples.map(({ number }) => number), samples.map(({ token }) => hashToken(token))]
    )
    await fillAccessTokens(client, { rows, lifetime })
    for (const table of ['users', 'grants', 'refresh_tokens']) await client.query(`vacuum (analyze) ${table}`)
    return samples.map(({ token }) => token)
  } finally {
    await client.end()
  }
}

/** Gives the first users of fillRows the same files as the user who has some. */
export async function shareFiles(resourceDatabaseUrl, people) {
  await administer(
    resourceDatabaseUrl,
    `insert into files (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
      select gen_random_uuid(), md5('user' || number)::uuid::text, source_path, source_hash, name, mime_type, kind, size,
        created_at, modified_at
      from files cross join generate_series(1, ${people}) number`,
    'vacuum (analyze) files'
  )
}

function sampleTokens(rows) {
  const numbers = new Set()
  while (numbers.size < Math.min(SAMPLES, rows / 2)) numbers.add(1 + Math.floor(Math.random() * rows))
  return [...numbers].map((number) => ({ number, token: newOpaqueToken('refreshToken', randomBytes) }))
}

/** Half of the rows in the table of the next tokens, half in the one after it. */
async function fillAccessTokens(client, { rows, lifetime }) {
  const first = expiryBucket(new Date(Date.now() + lifetime * 1_000), lifetime)
  await client.query('select make_access_token_buckets($1, $2)', [first, first + 1])
  for (const bucket of [first, first + 1]) {
    await client.query(
      `insert into access_tokens_${bucket} (token_hash, token_id, grant_id, scope, user_generation, client_generation,
          issued_at, expires_at)
        select sha256(('token' || $1 || number)::bytea), gen_random_uuid(), md5('grant' || number)::uuid, $3, 0, 0, now(),
          to_timestamp($1::int * 3600.0)
        from generate_series(1, $2::int) number`,
      [bucket, Math.ceil(rows / 2), [SCOPE]]
    )
  }
}
