import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TokenHash } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore, type RefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { atTime } from '../../support/postgres-clock.js'
import { after, NOW, RESPONSE, rotationOf } from '../../support/rotation.js'
import { newHash, openTestDatabase, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let opened: Awaited<ReturnType<typeof openTestDatabase>>
let database: Database
let present = NOW
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

const raise = (table: 'users' | 'clients', key: string, id: string) =>
  database.query({
    name: `test_raise_${table}`,
    text: `update ${table} set generation = generation + 1 where ${key} = $1`,
    values: [id]
  })
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
