import { randomUUID } from 'node:crypto'
import { expiryBucket } from '@valetkey/oauth-protocol'
import type { MigratedDatabase } from './migrated-database.js'
import { newHash } from './stored-grant.js'

export const HOUR = 3_600_000

/** The buckets that have a table, in order. */
export async function bucketsOf({ run }: Pick<MigratedDatabase, 'run'>): Promise<number[]> {
  const rows = await run<{ bucket: number }>(
    `select substring(relname from '[0-9]+$')::integer as bucket from pg_class
      where relkind = 'r' and relname ~ '^access_tokens_[0-9]+$' order by 1`
  )
  return rows.map(({ bucket }) => bucket)
}

/** An access token in the table of the bucket of its expiry. */
export async function insertToken(
  { run }: Pick<MigratedDatabase, 'run'>,
  table: string,
  expiresAt: Date,
  grantId: string = randomUUID()
) {
  const hash = newHash()
  await run(
    `insert into ${table} (token_hash, token_id, grant_id, scope, user_generation, client_generation, issued_at, expires_at)
      values ($1, gen_random_uuid(), $2, '{files.read}', 0, 0, now(), $3)`,
    [hash, grantId, expiresAt]
  )
  return { hash, bucket: expiryBucket(expiresAt) }
}
