import { randomBytes, randomUUID } from 'node:crypto'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from '@valetkey/dev-stack'
import { digestToken, expiryBucket, type TokenDigest } from '@valetkey/oauth-protocol'
import { connectPostgres, type Database, migrate } from '@valetkey/service-kit'
import { createClientChangeStore } from '../../src/storage/client-changes.js'
import { createGrantStore } from '../../src/storage/grants.js'
import { NOTE } from './audit-note.js'
import { insertUser } from './insert-user.js'

const MIGRATIONS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../migrations')

/** A migrated database of its own, for tests of one store. */
export async function openTestDatabase(): Promise<{ database: Database; close(): Promise<void> }> {
  const created = await createTestDatabase()
  await migrate(created.url, MIGRATIONS)
  const database = connectPostgres(created.url, { connections: 10 })
  return {
    database,
    async close() {
      await database.close()
      await created.drop()
    }
  }
}

export function newDigest(): TokenDigest {
  return digestToken(randomBytes(16).toString('hex'))
}

export type StoredGrant = {
  grantId: string
  clientId: string
  userId: string
  access: { digest: TokenDigest; bucket: number; tokenId: string; expiresAt: Date }
  refresh: { digest: TokenDigest; expiresAt: Date }
  refreshableUntil: Date
}

/** A grant as Allow and the exchange leave it, with its first two tokens. */
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
      redirectUris: ['https://app.example/callback'],
      requiredScopes: ['files.read', 'files.read:images'],
      optionalScopes: [],
      requiresPkce: false,
      issuesRefreshTokens: true,
      consent: 'ask' as const,
      createdAt: now,
      disabled: false,
      verified: false
    }
    await createClientChangeStore(database).create(client, undefined, NOTE)
  }
  const grants = createGrantStore(database)
  const grantId = randomUUID()
  const codeDigest = newDigest()
  const access = { digest: newDigest(), tokenId: randomUUID(), expiresAt: after(100), bucket: expiryBucket(after(100)) }
  const refresh = { digest: newDigest(), expiresAt: after(1000) }
  const refreshableUntil = after(2500)
  await grants.open({
    grantId,
    clientId,
    userId,
    userGeneration: 0,
    sessionGeneration: 0,
    consent: 'given',
    scope: ['files.read', 'files.read:images'],
    audience: 'https://files.example',
    redirectUri: 'https://app.example/callback',
    codeChallenge: undefined,
    codeDigest,
    createdAt: now,
    expiresAt: after(600)
  })
  await grants.redeem(codeDigest, { accessToken: access, refreshToken: refresh, refreshableUntil }, now)
  return { grantId, clientId, userId, access, refresh, refreshableUntil }
}
