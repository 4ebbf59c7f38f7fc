import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import { createGrantStore, type FirstTokens, type GrantStore } from '../../src/storage/grants.js'
import type { NewGrant } from '../../src/storage/open-grant.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'
import { newDigest, storeGrant } from '../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

let opened: MigratedDatabase
let grants: GrantStore
let clientId: string
let userId: string
let grant: NewGrant

beforeAll(async () => {
  opened = await createMigratedDatabase()
  grants = createGrantStore(opened.database)
})
beforeEach(async () => {
  // A user and a client of its own.
  const owner = await storeGrant(opened.database, NOW)
  clientId = owner.clientId
  userId = owner.userId
  grant = {
    grantId: randomUUID(),
    clientId,
    userId,
    userGeneration: 0,
    sessionGeneration: 0,
    consent: 'given',
    scope: ['b', 'a'],
    audience: 'https://files.example',
    redirectUri: 'https://app.example/callback',
    codeChallenge: 'challenge',
    codeDigest: newDigest(),
    createdAt: NOW,
    expiresAt: after(600)
  }
})
afterAll(() => opened.close())

const tokens = (change: Partial<FirstTokens> = {}): FirstTokens => ({
  accessToken: { digest: newDigest(), tokenId: randomUUID(), expiresAt: after(100) },
  refreshToken: { digest: newDigest(), expiresAt: after(1_000) },
  refreshableUntil: after(5_000),
  ...change
})

type Row = Record<string, unknown>

const rowOf = async (): Promise<Row | undefined> =>
  (await opened.run<Row>('select * from grants where grant_id = $1', [grant.grantId]))[0]

const tokensOf = async (table: 'access_tokens' | 'refresh_tokens') =>
  opened.run<Row & { token_hash: Buffer }>(`select * from ${table} where grant_id = $1`, [grant.grantId])

describe('redeem', () => {
  beforeEach(async () => {
    await opened.run('update clients set generation = 7 where client_id = $1', [clientId])
    await grants.open(grant)
  })

  test('stores both tokens with the generations of Allow, and gives the scope', async () => {
    await opened.run('update clients set generation = 8 where client_id = $1', [clientId])
    await opened.run('update users set generation = 9 where user_id = $1', [userId])
    const first = tokens()
    expect(await grants.redeem(grant.codeDigest, first, after(5))).toEqual({ scope: ['b', 'a'], userId })
    const shared = { grant_id: grant.grantId, user_generation: 0, client_generation: 7, issued_at: after(5) }
    expect(await tokensOf('access_tokens')).toMatchObject([
      {
        ...shared,
        token_hash: first.accessToken.digest,
        token_id: first.accessToken.tokenId,
        scope: ['b', 'a'],
        expires_at: after(100),
        revoked_at: null
      }
    ])
    expect(await tokensOf('refresh_tokens')).toMatchObject([
      { ...shared, token_hash: first.refreshToken?.digest, expires_at: after(1_000), rotated_at: null }
    ])
    expect(await rowOf()).toMatchObject({ redeemed_at: after(5), refreshable_until: after(5_000), ended_at: null })
  })

  test.each([
    { name: 'the refresh token lives longer', access: 100, refresh: 1_000, expires: 1_000 },
    { name: 'the access token lives longer', access: 2_000, refresh: 1_000, expires: 2_000 },
    { name: 'there is no refresh token', access: 100, refresh: undefined, expires: 100 }
  ])('the row stays until its last token has expired: $name', async ({ access, refresh, expires }) => {
    const accessToken = { digest: newDigest(), tokenId: randomUUID(), expiresAt: after(access) }
    const refreshToken = refresh === undefined ? undefined : { digest: newDigest(), expiresAt: after(refresh) }
    await grants.redeem(grant.codeDigest, tokens({ accessToken, refreshToken }), NOW)
    expect((await rowOf())?.expires_at).toEqual(after(expires))
    expect(await tokensOf('refresh_tokens')).toHaveLength(refresh === undefined ? 0 : 1)
  })

  test('a second time: undefined, and the first tokens stay alone', async () => {
    const first = tokens()
    await grants.redeem(grant.codeDigest, first, NOW)
    expect(await grants.redeem(grant.codeDigest, tokens(), after(1))).toBeUndefined()
    expect((await tokensOf('access_tokens')).map((row) => row.token_hash)).toEqual([first.accessToken.digest])
    expect(await rowOf()).toMatchObject({ redeemed_at: NOW })
  })

  test('of thirty at once, one redeems it', async () => {
    const found = await Promise.all(Array.from({ length: 30 }, () => grants.redeem(grant.codeDigest, tokens(), NOW)))
    expect(found.filter((each) => each !== undefined)).toHaveLength(1)
    expect(await tokensOf('access_tokens')).toHaveLength(1)
    expect(await tokensOf('refresh_tokens')).toHaveLength(1)
  })

  test('a code that nobody knows: undefined, and nothing is written', async () => {
    expect(await grants.redeem(newDigest(), tokens(), NOW)).toBeUndefined()
    expect(await rowOf()).toMatchObject({ redeemed_at: null })
    expect(await tokensOf('access_tokens')).toEqual([])
  })

  test('a grant that has ended: the tokens are stored, for the winner’s 200, and it stays ended', async () => {
    await grants.end(grant.grantId, after(1))
    expect(await grants.redeem(grant.codeDigest, tokens(), after(2))).toEqual({ scope: ['b', 'a'], userId })
    expect(await rowOf()).toMatchObject({ redeemed_at: after(2), ended_at: after(1) })
  })

  test('all or nothing: a token hash that is there already undoes the redemption', async () => {
    const first = tokens()
    await grants.redeem(grant.codeDigest, first, NOW)
    const second = { ...grant, grantId: randomUUID(), codeDigest: newDigest() }
    await grants.open(second)
    await expect(grants.redeem(second.codeDigest, tokens({ accessToken: first.accessToken }), NOW)).rejects.toThrow()
    expect((await grants.findByCode(second.codeDigest))?.redeemed).toBe(false)
  })
})

describe('findByCode and end', () => {
  beforeEach(async () => {
    await grants.open(grant)
  })

  test.each([
    { name: 'with a challenge', codeChallenge: 'challenge' },
    { name: 'without one', codeChallenge: undefined }
  ])('a grant $name, before its redemption and after it', async ({ codeChallenge }) => {
    const own = { ...grant, grantId: randomUUID(), codeDigest: newDigest(), codeChallenge }
    await grants.open(own)
    const { grantId, redirectUri, audience } = own
    const found = { grantId, clientId, redirectUri, codeChallenge, audience }
    expect(await grants.findByCode(own.codeDigest)).toEqual({ ...found, redeemed: false })
    await grants.redeem(own.codeDigest, tokens(), NOW)
    expect(await grants.findByCode(own.codeDigest)).toEqual({ ...found, redeemed: true })
  })

  test('an unknown code finds nothing', async () => {
    expect(await grants.findByCode(newDigest() as TokenDigest)).toBeUndefined()
  })

  test('ends this grant only, and the first ending stands', async () => {
    const other = { ...grant, grantId: randomUUID(), codeDigest: newDigest() }
    await grants.open(other)
    expect(await grants.end(grant.grantId, after(1))).toEqual({ userId })
    expect(await grants.end(grant.grantId, after(2))).toBeUndefined()
    expect(await rowOf()).toMatchObject({ ended_at: after(1) })
    const untouched = await opened.run<Row>('select ended_at from grants where grant_id = $1', [other.grantId])
    expect(untouched).toEqual([{ ended_at: null }])
  })
})
