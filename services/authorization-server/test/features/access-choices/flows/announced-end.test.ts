import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createAccessEndStore } from '../../../../src/features/access-choices/access-end-store.js'
import { type ObservedDatabase, openObservedDatabase } from '../../../support/received-endings.js'
import { storeGrant } from '../../../support/stored-grant.js'

let observed: ObservedDatabase

beforeAll(async () => {
  observed = await openObservedDatabase()
})
afterAll(() => observed.close())

test('an earlier end is announced once, as the end of the grant, so that guards ask again', async () => {
  const { database } = observed
  const grant = await storeGrant(database, new Date())
  await observed.announced()
  const end = new Date(Date.now() + 60_000)
  const { shorten } = createAccessEndStore(database)
  expect(await shorten(grant.userId, grant.clientId, end)).toEqual([grant.grantId])
  expect(await observed.announced()).toEqual([expect.objectContaining({ grant_id: grant.grantId })])
  expect(await shorten(grant.userId, grant.clientId, end)).toEqual([])
  expect(await observed.announced()).toEqual([])
})
