import { randomUUID } from 'node:crypto'
import { expiryBucket } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { newHash } from './stored-grant.js'

export type AudienceGrant = { grantId: string; tokenId: string; userId: string; clientId: string }

/** An active grant for one audience with one active access token, in the table of the hour of its expiry. */
export async function grantFor(
  database: Database,
  audience: string,
  owner: { userId?: string; clientId?: string } = {}
): Promise<AudienceGrant> {
  const { userId = randomUUID(), clientId = `client_${randomUUID()}` } = owner
  const [grantId, tokenId] = [randomUUID(), randomUUID()]
  const run = (text: string, values: unknown[]) => database.query({ name: '', text, values })
  await run(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
      client_generation, newest_scope, created_at, redeemed_at, expires_at)
      values ($1, $2, $3, '{files.read}', $4, 'https://app.example/callback', $5, 0, 0, 1000, now(), now(), now() + interval '1 day')`,
    [grantId, clientId, userId, audience, newHash()]
  )
  const expiresAt = new Date(Date.now() + 3_600_000)
  const bucket = expiryBucket(expiresAt)
  await run('select make_access_token_buckets($1, $1)', [bucket])
  await run(
    `insert into access_tokens_${bucket} (token_hash, token_id, grant_id, scope, user_generation, client_generation, issued_at,
      expires_at) values ($1, $2, $3, '{files.read}', 0, 0, now(), $4)`,
    [newHash(), tokenId, grantId, expiresAt]
  )
  return { grantId, tokenId, userId, clientId }
}
