import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore, type RefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { atTime } from '../../support/postgres-clock.js'
import { ANSWER, after, NOW, rotationOf } from '../../support/rotation.js'
import { newDigest, openTestDatabase, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let opened: Awaited<ReturnType<typeof openTestDatabase>>
let database: Database
let present = NOW
const DAY = 86_400
let store: RefreshTokenStore
let grant: StoredGrant

beforeAll(async () => {
  opened = await openTestDatabase()
  database = opened.database
  store = createRefreshTokenStore(atTime(database, () => present))
})
beforeEach(async () => {
  grant = await storeGrant(database, NOW)
  present = NOW
})
afterAll(() => opened.close())

async function rowOf(digest: TokenDigest): Promise<Record<string, unknown> | undefined> {
  const text = 'select * from refresh_tokens where token_hash = $1'
  return (await database.query({ name: 'test_refresh_row', text, values: [digest] }))[0]
}

async function grantExpiry(): Promise<Date | undefined> {
  const text = 'select greatest(expires_at, extended_until) as expires_at from grants where grant_id = $1'
  const rows = await database.query<{ expires_at: Date }>({ name: 'test_expiry', text, values: [grant.grantId] })
  return rows[0]?.expires_at
}

const raise = (table: 'users' | 'clients', key: string, id: string) =>
  database.query({
    name: `test_raise_${table}`,
    text: `update ${table} set generation = generation + 1 where ${key} = $1`,
    values: [id]
  })

describe('refresh token store: rotate', () => {
  test('the token expires and the retry window ends by the clock of Postgres', async () => {
    await store.rotate(rotationOf(grant.refresh.digest), after(10))
    // The window of 30 s begins when Postgres executes the rotation, regardless of the time that the process sends.
    const looks = [after(20), after(60), after(999.999), after(1_000)].map((time) => {
      return createRefreshTokenStore(atTime(database, time)).find(grant.refresh.digest)
    })
    const found = (await Promise.all(looks)).map((record) => [record?.expired, record?.rotation?.retryAnswer])
    expect(found).toEqual([
      [false, ANSWER],
      [false, undefined],
      [false, undefined],
      [true, undefined]
    ])
  })

  test.each([-400 * DAY, -3_600, -31, 31, 3_600, 400 * DAY])(
    'by a process whose clock is %d s ahead is refused as an outage, and writes nothing',
    async (ahead) => {
      const rotation = rotationOf(grant.refresh.digest)
      const asked = store.rotate(rotation, after(ahead))
      await expect(asked).rejects.toThrow(StoreUnavailable)
      expect(await store.find(grant.refresh.digest)).toMatchObject({ rotation: undefined })
      expect(await store.find(rotation.successor.digest)).toBeUndefined()
    }
  )

  test('stores the response at the old token, and a successor with the values of the old token', async () => {
    const rotation = rotationOf(grant.refresh.digest)
    expect(await store.rotate(rotation, after(10))).toBe(true)
    expect(await store.find(grant.refresh.digest)).toMatchObject({
      ended: false,
      rotation: { retryScope: 'files.read', retryAnswer: ANSWER }
    })
    expect(await store.find(rotation.successor.digest)).toMatchObject({
      grantId: grant.grantId,
      scope: ['files.read', 'files.read:images'],
      expired: false,
      refreshableUntil: grant.refreshableUntil,
      rotation: undefined
    })
    expect(await rowOf(rotation.successor.digest)).toMatchObject({
      predecessor_hash: grant.refresh.digest,
      issued_at: after(10),
      expires_at: after(1010),
      user_generation: 0,
      client_generation: 0
    })
    const access = await findLiveAccessToken(database, rotation.accessToken.digest, after(10))
    expect(access).toEqual({
      tokenId: expect.any(String),
      grantId: grant.grantId,
      clientId: grant.clientId,
      userId: grant.userId,
      scope: ['files.read'],
      audience: 'https://files.example',
      issuedAt: after(10),
      expiresAt: after(110)
    })
  })

  test('without a retry window stores no response', async () => {
    await store.rotate(rotationOf(grant.refresh.digest, { retry: undefined, retryScope: '' }), NOW)
    expect((await store.find(grant.refresh.digest))?.rotation).toEqual({
      retryScope: '',
      retryAnswer: undefined
    })
  })

  test('erases only the response of the predecessor', async () => {
    const second = rotationOf(grant.refresh.digest)
    const bystander = await storeGrant(database, NOW)
    await store.rotate(rotationOf(bystander.refresh.digest), NOW)
    await store.rotate(second, NOW)
    await store.rotate(rotationOf(second.successor.digest), NOW)
    const answerOf = async (digest: TokenDigest) => (await store.find(digest))?.rotation?.retryAnswer
    expect(await answerOf(grant.refresh.digest)).toBeUndefined()
    expect(await answerOf(second.successor.digest)).toEqual(ANSWER)
    expect(await answerOf(bystander.refresh.digest)).toEqual(ANSWER)
  })

  test('returns false the second time and changes nothing', async () => {
    await store.rotate(rotationOf(grant.refresh.digest), NOW)
    const before = await rowOf(grant.refresh.digest)
    const late = rotationOf(grant.refresh.digest, { retryScope: 'other' })
    expect(await store.rotate(late, after(20))).toBe(false)
    expect(await rowOf(grant.refresh.digest)).toEqual(before)
    expect(await store.find(late.successor.digest)).toBeUndefined()
  })

  test.each<{ name: string; digest(): Promise<TokenDigest> }>([
    {
      name: 'a token of an ended grant',
      digest: async () => {
        await createGrantStore(database).end(grant.grantId)
        return grant.refresh.digest
      }
    },
    { name: 'an unknown token', digest: async () => newDigest() }
  ])('$name: false, and nothing is stored', async ({ digest }) => {
    const rotation = rotationOf(await digest())
    expect(await store.rotate(rotation, NOW)).toBe(false)
    expect(await rowOf(rotation.successor.digest)).toBeUndefined()
  })

  test('of 30 concurrent calls one returns true', async () => {
    const all = Array.from({ length: 30 }, () => store.rotate(rotationOf(grant.refresh.digest), NOW))
    expect((await Promise.all(all)).filter(Boolean)).toHaveLength(1)
  })

  test('concurrent rotations share statements, and each stores its own tokens', async () => {
    const grants = [grant]
    while (grants.length < 50) grants.push(await storeGrant(database, NOW, grant))
    const sent: string[] = []
    const counting: Database = {
      ...database,
      query(statement) {
        sent.push(statement.name)
        return database.query(statement)
      }
    }
    const counted = createRefreshTokenStore(atTime(counting, NOW))
    const of = new Map(grants.map(({ refresh }) => [refresh.digest, rotationOf(refresh.digest)]))
    sent.length = 0
    expect(await Promise.all([...of.values()].map((rotation) => counted.rotate(rotation, NOW)))).not.toContain(false)
    // The statement, and the lookup of its table.
    expect(sent.length).toBeLessThanOrEqual(4)
    for (const { grantId, refresh } of grants) {
      const rotation = of.get(refresh.digest)
      expect(await store.find(rotation?.successor.digest ?? newDigest())).toMatchObject({ grantId })
      expect(await rowOf(rotation?.successor.digest ?? newDigest())).toMatchObject({ predecessor_hash: refresh.digest })
    }
  })

  test('a rotation that Postgres refuses fails alone; the others of its statement are stored', async () => {
    const other = await storeGrant(database, NOW)
    const good = rotationOf(other.refresh.digest)
    const bad = rotationOf(grant.refresh.digest)
    bad.accessToken.digest = grant.access.digest
    const [refused, stored] = await Promise.allSettled([store.rotate(bad, NOW), store.rotate(good, NOW)])
    expect(refused).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('duplicate key') } })
    expect(stored).toEqual({ status: 'fulfilled', value: true })
    expect(await store.find(grant.refresh.digest)).toMatchObject({ rotation: undefined })
  })

  test('two processes that rotate the same tokens in opposite orders: no deadlock', async () => {
    const deadlocks = () => {
      const text = 'select deadlocks from pg_stat_database where datname = current_database()'
      return database.query({ name: '', text, values: [] })
    }
    const before = await deadlocks()
    const grants = [grant]
    while (grants.length < 60) grants.push(await storeGrant(database, NOW, grant))
    const rotateAll = (some: readonly StoredGrant[]) => {
      const own = createRefreshTokenStore(atTime(database, NOW))
      return some.map(({ refresh }) => own.rotate(rotationOf(refresh.digest), NOW))
    }
    const answers = await Promise.all([...rotateAll(grants), ...rotateAll(grants.toReversed())])
    expect(answers.filter(Boolean)).toHaveLength(60)
    expect(await deadlocks()).toEqual(before)
  })

  test('copies old generations, so that the new tokens have ended', async () => {
    await raise('users', 'user_id', grant.userId)
    const rotation = rotationOf(grant.refresh.digest)
    await store.rotate(rotation, NOW)
    expect(await findLiveAccessToken(database, rotation.accessToken.digest, NOW)).toBeUndefined()
    expect(await store.find(rotation.successor.digest)).toMatchObject({ ended: true })
  })

  test('if the successor cannot be stored, the old token does not change', async () => {
    const rotation = rotationOf(grant.refresh.digest)
    const taken = { ...rotation, accessToken: { ...rotation.accessToken, digest: grant.access.digest } }
    await expect(store.rotate(taken, NOW)).rejects.toThrow('duplicate key')
    expect(await store.find(grant.refresh.digest)).toMatchObject({ ended: false, rotation: undefined })
    expect(await rowOf(rotation.successor.digest)).toBeUndefined()
  })

  test.each([
    { name: 'the successor', refresh: 5000, access: 100, expected: 5000 },
    { name: 'the access token', refresh: 1000, access: 6000, expected: 6000 },
    { name: 'neither, because the grant lasts longer', refresh: 10, access: 10, expected: 1000 }
  ])('the row of the grant is kept until its last token expires: $name', async ({ refresh, access, expected }) => {
    const rotation = rotationOf(grant.refresh.digest)
    rotation.successor.expiresAt = after(refresh)
    rotation.accessToken.expiresAt = after(access)
    await store.rotate(rotation, NOW)
    expect(await grantExpiry()).toEqual(after(expected))
  })
})
