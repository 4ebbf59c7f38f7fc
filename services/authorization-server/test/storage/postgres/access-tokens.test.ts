import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { type AccessTokenStore, createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const after = (milliseconds: number) => new Date(NOW.getTime() + milliseconds)

let opened: MigratedDatabase
let database: Database
let store: AccessTokenStore
let grant: StoredGrant

beforeAll(async () => {
  opened = await createMigratedDatabase()
  database = opened.database
  store = createAccessTokenStore(atTime(database, NOW))
})
beforeEach(async () => {
  grant = await storeGrant(database, NOW)
})
afterAll(() => opened.close())

const change = (name: string, text: string, id: string) => database.query({ name: `test_${name}`, text, values: [id] })

describe('introspection lookup of an access token', () => {
  test('an active token: all fields', async () => {
    expect(await findLiveAccessToken(database, grant.access.hash, NOW)).toEqual({
      tokenId: grant.access.tokenId,
      grantId: grant.grantId,
      clientId: grant.clientId,
      userId: grant.userId,
      scope: ['files.read', 'files.read:images'],
      audience: 'https://files.example',
      issuedAt: NOW,
      expiresAt: grant.access.expiresAt
    })
  })

  test.each([
    { name: 'one millisecond before its expiry: active', at: 99_999, active: true },
    { name: 'at its expiry: inactive', at: 100_000, active: false },
    { name: 'after its expiry: inactive', at: 100_001, active: false }
  ])('$name', async ({ at, active }) => {
    expect((await findLiveAccessToken(database, grant.access.hash, after(at))) !== undefined).toBe(active)
  })

  test.each<{ name: string; hash(): TokenHash }>([
    { name: 'an unknown token', hash: newHash },
    { name: 'a refresh token', hash: () => grant.refresh.hash }
  ])('$name: not found', async ({ hash }) => {
    expect(await findLiveAccessToken(database, hash(), NOW)).toBeUndefined()
  })

  test.each<{ name: string; ending(): Promise<unknown> }>([
    { name: 'a revoked token', ending: () => store.revoke(grant.access, grant.clientId) },
    { name: 'a token of an ended grant', ending: () => createGrantStore(database).end(grant.grantId) },
    {
      name: 'a token with a generation older than that of its user',
      ending: () => change('user', 'update users set generation = 1 where user_id = $1', grant.userId)
    },
    {
      name: 'a token with a generation newer than that of its user',
      ending: () => change('older', 'update users set generation = -1 where user_id = $1', grant.userId)
    },
    {
      name: 'a token with a generation older than that of its client',
      ending: () => change('client', 'update clients set generation = 1 where client_id = $1', grant.clientId)
    },
    {
      name: 'a token of a deleted user',
      ending: () => change('no_user', 'delete from users where user_id = $1', grant.userId)
    },
    {
      name: 'a token of a deleted client',
      ending: () => change('no_client', 'delete from clients where client_id = $1', grant.clientId)
    },
    {
      name: 'a token whose grant was deleted',
      ending: () => change('no_grant', 'delete from grants where grant_id = $1', grant.grantId)
    }
  ])('$name: not found', async ({ ending }) => {
    await ending()
    expect(await findLiveAccessToken(database, grant.access.hash, NOW)).toBeUndefined()
  })
})

describe('access token store: revoke', () => {
  const active = async ({ access }: StoredGrant) =>
    (await findLiveAccessToken(database, access.hash, NOW)) !== undefined

  test('ends only this token and returns its ids', async () => {
    const sibling = await storeGrant(database, NOW, grant)
    expect(await store.revoke(grant.access, grant.clientId)).toEqual({
      tokenId: grant.access.tokenId,
      grantId: grant.grantId,
      userId: grant.userId
    })
    expect([await active(grant), await active(sibling)]).toEqual([false, true])
  })

  test.each<{ name: string; hash(): TokenHash; clientId(): string }>([
    { name: 'by another client', hash: () => grant.access.hash, clientId: () => 'other' },
    {
      name: 'by an id in other letter case',
      hash: () => grant.access.hash,
      clientId: () => grant.clientId.toUpperCase()
    },
    { name: 'of an unknown token', hash: newHash, clientId: () => grant.clientId },
    { name: 'of a refresh token', hash: () => grant.refresh.hash, clientId: () => grant.clientId }
  ])('$name: changes nothing', async ({ hash, clientId }) => {
    expect(await store.revoke({ hash: hash(), bucket: grant.access.bucket }, clientId())).toBeUndefined()
    expect(await active(grant)).toBe(true)
  })

  test('a second time: returns undefined and keeps the first time', async () => {
    await store.revoke(grant.access, grant.clientId)
    expect(
      await createAccessTokenStore(atTime(database, after(5))).revoke(grant.access, grant.clientId)
    ).toBeUndefined()
    const text = 'select revoked_at from access_tokens where token_hash = $1'
    const rows = await database.query({ name: 'test_revoked_at', text, values: [grant.access.hash] })
    expect(rows).toEqual([{ revoked_at: NOW }])
  })

  test('of 20 concurrent calls one returns the ids', async () => {
    const all = Array.from({ length: 20 }, () => store.revoke(grant.access, grant.clientId))
    expect((await Promise.all(all)).filter((revoked) => revoked !== undefined)).toHaveLength(1)
  })
})
