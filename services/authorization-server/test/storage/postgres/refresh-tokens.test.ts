import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket, type TokenHash } from '@valetkey/oauth-protocol'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore, type RefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { after, NOW, RESPONSE, rotationOf } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let opened: MigratedDatabase
let database: Database
let present = NOW
let store: RefreshTokenStore
let grant: StoredGrant
const raise = (table: 'users' | 'clients', key: string, id: string) =>
  database.query({
    name: `test_raise_${table}`,
    text: `update ${table} set generation = generation + 1 where ${key} = $1`,
    values: [id]
  })

beforeAll(async () => {
  opened = await createMigratedDatabase()
  database = opened.database
  store = createRefreshTokenStore(atTime(database, () => present))
})
beforeEach(async () => {
  grant = await storeGrant(database, NOW)
  present = NOW
})
afterAll(() => opened.close())

describe('refresh tokens', () => {
  const remove = (table: 'users' | 'clients', key: string, id: string) =>
    database.query({ name: `test_remove_${table}`, text: `delete from ${table} where ${key} = $1`, values: [id] })

  describe('refresh token store: find', () => {
    test('a new token with the fields of its grant', async () => {
      expect(await store.find(grant.refresh.hash)).toEqual({
        grantId: grant.grantId,
        clientId: grant.clientId,
        userId: grant.userId,
        remainingScope: ['files.read', 'files.read:images'],
        scope: ['files.read', 'files.read:images'],
        audience: 'https://files.example',
        expired: false,
        refreshableUntil: grant.refreshableUntil,
        waitSeconds: 0,
        ended: false,
        signInTooOld: false,
        requiresKey: undefined,
        jkt: undefined,
        wasBound: false,
        rotation: undefined
      })
    })

    test.each<{ name: string; hash(): TokenHash }>([
      { name: 'an unknown token', hash: newHash },
      { name: 'an access token', hash: () => grant.access.hash }
    ])('$name: nothing', async ({ hash }) => {
      expect(await store.find(hash())).toBeUndefined()
    })

    test.each<{ name: string; ending(): Promise<unknown> }>([
      { name: 'the grant ended', ending: () => createGrantStore(database).end(grant.grantId) },
      { name: 'a newer generation of the user', ending: () => raise('users', 'user_id', grant.userId) },
      { name: 'a newer generation of the client', ending: () => raise('clients', 'client_id', grant.clientId) },
      { name: 'the user deleted', ending: () => remove('users', 'user_id', grant.userId) },
      { name: 'the client deleted', ending: () => remove('clients', 'client_id', grant.clientId) }
    ])('$name: ended', async ({ ending }) => {
      await ending()
      expect(await store.find(grant.refresh.hash)).toMatchObject({ ended: true })
    })

    test('any other generation ends the token, lower ones included', async () => {
      const text = 'update users set generation = -1 where user_id = $1'
      await database.query({ name: 'test_lower', text, values: [grant.userId] })
      expect(await store.find(grant.refresh.hash)).toMatchObject({ ended: true })
    })
  })

  describe('refresh token store: endGrant', () => {
    test('ends the grant of a current, rotated or expired token of the client, and returns its id', async () => {
      expect(await store.endGrant(grant.refresh.hash, grant.clientId)).toEqual({
        grantId: grant.grantId,
        userId: grant.userId
      })
      expect(await store.find(grant.refresh.hash)).toMatchObject({ ended: true })
      const other = await storeGrant(database, NOW)
      await store.rotate(rotationOf(other.refresh.hash), NOW)
      expect(await store.endGrant(other.refresh.hash, other.clientId)).toEqual({
        grantId: other.grantId,
        userId: other.userId
      })
    })

    test('returns undefined for another client, an unknown token, an access token, and the second time', async () => {
      expect(await store.endGrant(grant.refresh.hash, 'other')).toBeUndefined()
      expect(await store.endGrant(newHash(), grant.clientId)).toBeUndefined()
      expect(await store.endGrant(grant.access.hash, grant.clientId)).toBeUndefined()
      expect(await store.find(grant.refresh.hash)).toMatchObject({ ended: false })
      await store.endGrant(grant.refresh.hash, grant.clientId)
      expect(await store.endGrant(grant.refresh.hash, grant.clientId)).toBeUndefined()
    })

    test('does not change other grants of the same user and client', async () => {
      const other = await storeGrant(database, NOW, grant)
      await store.endGrant(grant.refresh.hash, grant.clientId)
      expect(await store.find(other.refresh.hash)).toMatchObject({ ended: false })
    })
  })

  test('erases responses after their retry window, and keeps those of open windows (contract 2, "Tokens")', async () => {
    const open = await storeGrant(database, NOW)
    await store.rotate(rotationOf(grant.refresh.hash, { retry: { until: after(30), response: RESPONSE } }), NOW)
    await store.rotate(rotationOf(open.refresh.hash, { retry: { until: after(31), response: RESPONSE } }), NOW)
    await createExpiredRows(atTime(database, after(30))).eraseSomeRetryResponses()
    expect((await store.find(grant.refresh.hash))?.rotation?.retryResponse).toBeUndefined()
    expect((await store.find(open.refresh.hash))?.rotation?.retryResponse).toEqual(RESPONSE)
  })
})

describe('refresh token store: rotate', () => {
  const DAY = 86_400

  async function rowOf(hash: TokenHash): Promise<Record<string, unknown> | undefined> {
    const text = 'select * from refresh_tokens where token_hash = $1'
    return (await database.query({ name: 'test_refresh_row', text, values: [hash] }))[0]
  }

  async function grantExpiry(): Promise<Date | undefined> {
    const text = 'select greatest(expires_at, extended_until) as expires_at from grants where grant_id = $1'
    const rows = await database.query<{ expires_at: Date }>({ name: 'test_expiry', text, values: [grant.grantId] })
    return rows[0]?.expires_at
  }

  test('the token expires and the retry window ends by the clock of Postgres', async () => {
    await store.rotate(rotationOf(grant.refresh.hash), after(10))
    // The window of 30 s begins when Postgres executes the rotation, regardless of the time that the process sends.
    const looks = [after(20), after(60), after(999.999), after(1_000)].map((time) => {
      return createRefreshTokenStore(atTime(database, time)).find(grant.refresh.hash)
    })
    const found = (await Promise.all(looks)).map((record) => [record?.expired, record?.rotation?.retryResponse])
    expect(found).toEqual([
      [false, RESPONSE],
      [false, undefined],
      [false, undefined],
      [true, undefined]
    ])
  })

  test.each([-400 * DAY, -3_600, -31, 31, 3_600, 400 * DAY])(
    'by a process whose clock is %d s ahead is refused as an outage, and writes nothing',
    async (ahead) => {
      const rotation = rotationOf(grant.refresh.hash)
      const asked = store.rotate(rotation, after(ahead))
      await expect(asked).rejects.toThrow(StoreUnavailable)
      expect(await store.find(grant.refresh.hash)).toMatchObject({ rotation: undefined })
      expect(await store.find(rotation.successor.hash)).toBeUndefined()
    }
  )

  test('stores the response at the old token, and a successor with the values of the old token', async () => {
    const rotation = rotationOf(grant.refresh.hash)
    expect(await store.rotate(rotation, after(10))).toBe(true)
    expect(await store.find(grant.refresh.hash)).toMatchObject({
      ended: false,
      rotation: { retryScope: 'files.read', retryResponse: RESPONSE }
    })
    expect(await store.find(rotation.successor.hash)).toMatchObject({
      grantId: grant.grantId,
      scope: ['files.read', 'files.read:images'],
      expired: false,
      refreshableUntil: grant.refreshableUntil,
      rotation: undefined
    })
    expect(await rowOf(rotation.successor.hash)).toMatchObject({
      predecessor_hash: grant.refresh.hash,
      issued_at: after(10),
      expires_at: after(1010),
      user_generation: 0,
      client_generation: grant.clientGeneration
    })
    const access = await findLiveAccessToken(database, rotation.accessToken.hash, after(10))
    expect(access).toEqual({
      tokenId: expect.any(String),
      grantId: grant.grantId,
      clientId: grant.clientId,
      userId: grant.userId,
      scope: ['files.read'],
      audience: 'https://files.example',
      issuedAt: after(10),
      expiresAt: after(110),
      lastUseIsOld: false
    })
  })

  test('without a retry window stores no response', async () => {
    await store.rotate(rotationOf(grant.refresh.hash, { retry: undefined, retryScope: '' }), NOW)
    expect((await store.find(grant.refresh.hash))?.rotation).toEqual({
      retryScope: '',
      retryResponse: undefined
    })
  })

  test('erases only the response of the predecessor', async () => {
    const second = rotationOf(grant.refresh.hash)
    const bystander = await storeGrant(database, NOW)
    await store.rotate(rotationOf(bystander.refresh.hash), NOW)
    await store.rotate(second, NOW)
    await store.rotate(rotationOf(second.successor.hash), NOW)
    const resultOf = async (hash: TokenHash) => (await store.find(hash))?.rotation?.retryResponse
    expect(await resultOf(grant.refresh.hash)).toBeUndefined()
    expect(await resultOf(second.successor.hash)).toEqual(RESPONSE)
    expect(await resultOf(bystander.refresh.hash)).toEqual(RESPONSE)
  })

  test('returns false the second time and changes nothing', async () => {
    await store.rotate(rotationOf(grant.refresh.hash), NOW)
    const before = await rowOf(grant.refresh.hash)
    const late = rotationOf(grant.refresh.hash, { retryScope: 'other' })
    expect(await store.rotate(late, after(20))).toBe(false)
    expect(await rowOf(grant.refresh.hash)).toEqual(before)
    expect(await store.find(late.successor.hash)).toBeUndefined()
  })

  test.each<{ name: string; hash(): Promise<TokenHash> }>([
    {
      name: 'a token of an ended grant',
      hash: async () => {
        await createGrantStore(database).end(grant.grantId)
        return grant.refresh.hash
      }
    },
    { name: 'an unknown token', hash: async () => newHash() }
  ])('$name: false, and nothing is stored', async ({ hash }) => {
    const rotation = rotationOf(await hash())
    expect(await store.rotate(rotation, NOW)).toBe(false)
    expect(await rowOf(rotation.successor.hash)).toBeUndefined()
  })

  test('of 30 concurrent calls one returns true', async () => {
    const all = Array.from({ length: 30 }, () => store.rotate(rotationOf(grant.refresh.hash), NOW))
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
    const of = new Map(grants.map(({ refresh }) => [refresh.hash, rotationOf(refresh.hash)]))
    sent.length = 0
    expect(await Promise.all([...of.values()].map((rotation) => counted.rotate(rotation, NOW)))).not.toContain(false)
    // The statement, and the lookup of its table.
    expect(sent.length).toBeLessThanOrEqual(4)
    for (const { grantId, refresh } of grants) {
      const rotation = of.get(refresh.hash)
      expect(await store.find(rotation?.successor.hash ?? newHash())).toMatchObject({ grantId })
      expect(await rowOf(rotation?.successor.hash ?? newHash())).toMatchObject({ predecessor_hash: refresh.hash })
    }
  })

  test('a rotation that Postgres refuses fails alone; the others of its statement are stored', async () => {
    const other = await storeGrant(database, NOW)
    const good = rotationOf(other.refresh.hash)
    const bad = rotationOf(grant.refresh.hash)
    bad.accessToken.hash = grant.access.hash
    const [refused, stored] = await Promise.allSettled([store.rotate(bad, NOW), store.rotate(good, NOW)])
    expect(refused).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('duplicate key') } })
    expect(stored).toEqual({ status: 'fulfilled', value: true })
    expect(await store.find(grant.refresh.hash)).toMatchObject({ rotation: undefined })
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
      return some.map(({ refresh }) => own.rotate(rotationOf(refresh.hash), NOW))
    }
    const answers = await Promise.all([...rotateAll(grants), ...rotateAll(grants.toReversed())])
    expect(answers.filter(Boolean)).toHaveLength(60)
    expect(await deadlocks()).toEqual(before)
  })

  test('copies old generations, so that the new tokens have ended', async () => {
    await raise('users', 'user_id', grant.userId)
    const rotation = rotationOf(grant.refresh.hash)
    await store.rotate(rotation, NOW)
    expect(await findLiveAccessToken(database, rotation.accessToken.hash, NOW)).toBeUndefined()
    expect(await store.find(rotation.successor.hash)).toMatchObject({ ended: true })
  })

  test('if the successor cannot be stored, the old token does not change', async () => {
    const rotation = rotationOf(grant.refresh.hash)
    const taken = { ...rotation, accessToken: { ...rotation.accessToken, hash: grant.access.hash } }
    await expect(store.rotate(taken, NOW)).rejects.toThrow('duplicate key')
    expect(await store.find(grant.refresh.hash)).toMatchObject({ ended: false, rotation: undefined })
    expect(await rowOf(rotation.successor.hash)).toBeUndefined()
  })

  test.each([
    { name: 'the successor', refresh: 5000, access: 100, expected: 5000 },
    { name: 'the access token', refresh: 1000, access: 6000, expected: 6000 },
    { name: 'neither, because the grant lasts longer', refresh: 10, access: 10, expected: 1000 }
  ])('the row of the grant is kept until its last token expires: $name', async ({ refresh, access, expected }) => {
    const rotation = rotationOf(grant.refresh.hash)
    rotation.successor.expiresAt = after(refresh)
    Object.assign(rotation.accessToken, { expiresAt: after(access), bucket: expiryBucket(after(access)) })
    await store.rotate(rotation, NOW)
    expect(await grantExpiry()).toEqual(after(expected))
  })
})
