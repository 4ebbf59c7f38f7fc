import { randomBytes, randomUUID } from 'node:crypto'
import { expiryBucket, hashToken, type TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createClientChangeStore } from '../../src/storage/postgres/client-changes.js'
import { createGrantStore } from '../../src/storage/postgres/grants.js'
import { NOTE } from './audit-note.js'
import { insertUser } from './insert-user.js'
import { atTime } from './postgres-clock.js'

/** Greater than the number of every scope in tests. */
export const NEWEST_SCOPE = 1_000

const REDIRECT_URI = 'https://app.example/callback'

export function newHash(): TokenHash {
  return hashToken(randomBytes(16).toString('hex'))
}

export type StoredGrant = {
  grantId: string
  clientId: string
  clientGeneration: number
  userId: string
  access: { hash: TokenHash; bucket: number; tokenId: string; expiresAt: Date }
  refresh: { hash: TokenHash; expiresAt: Date }
  refreshableUntil: Date
}

/** A grant with its first two tokens, as stored by an exchange. */
export async function storeGrant(
  database: Database,
  now: Date,
  owner: { clientId?: string; userId?: string } = {}
): Promise<StoredGrant> {
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000)
  const clientId = owner.clientId ?? `client_${randomUUID()}`
  const userId = owner.userId ?? randomUUID()
  if (owner.userId === undefined) {
    await insertUser(database, { userId, username: userId, passwordHash: 'none', createdAt: now })
  }
  if (owner.clientId === undefined) {
    const client = {
      clientId,
      name: 'Photo Printer',
      type: 'confidential' as const,
      redirectUris: [REDIRECT_URI],
      requiredScopes: ['files.read', 'files.read:images'],
      optionalScopes: [],
      requiresPkce: false,
      issuesRefreshTokens: true,
      consent: 'ask' as const,
      createdAt: now,
      disabled: false,
      verified: false,
      branding: {}
    }
    await createClientChangeStore(atTime(database, now)).create(client, undefined, NOTE)
  }
  const clientGeneration = await generationOf(database, clientId)
  const access = { hash: newHash(), expiresAt: after(100), bucket: expiryBucket(after(100)) }
  const refresh = { hash: newHash(), expiresAt: after(1000) }
  const grantId = randomUUID()
  const refreshableUntil = after(2500)
  const stored = await createGrantStore(atTime(database, now), undefined, { limitsFactor: 1_000 }).storeExchange({
    grantId,
    codeHash: newHash(),
    allowed: {
      userId,
      userGeneration: 0,
      clientGeneration,
      authorizationGeneration: 0,
      scope: ['files.read', 'files.read:images'],
      newestScope: NEWEST_SCOPE,
      binding: { clientId, redirectUri: REDIRECT_URI, codeChallenge: undefined, audience: 'https://files.example' }
    },
    tokens: { issuedAt: now, accessToken: access, refreshToken: refresh, refreshableUntil }
  })
  if (stored === undefined) throw new Error('the grant was not stored')
  const withId = await withTokenId(database, access)
  return { grantId, clientId, clientGeneration, userId, access: withId, refresh, refreshableUntil }
}

/** A new client starts with a random generation. */
async function generationOf(database: Database, clientId: string): Promise<number> {
  const text = 'select generation from clients where client_id = $1'
  const [row] = await database.query<{ generation: number }>({ name: '', text, values: [clientId] })
  return row?.generation ?? 0
}

/** Postgres creates the id of an access token. */
async function withTokenId<Access extends { hash: TokenHash }>(database: Database, access: Access) {
  const text = 'select token_id from access_tokens where token_hash = $1'
  const rows = await database.query<{ token_id: string }>({ name: 'test_token_id', text, values: [access.hash] })
  return { ...access, tokenId: rows[0]?.token_id ?? '' }
}
