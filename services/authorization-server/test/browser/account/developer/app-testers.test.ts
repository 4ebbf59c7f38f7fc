import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { addTester, removeTester } from '../../../../src/browser/account/developer/app-testers.js'
import type { Actor, OwnAppDeps } from '../../../../src/browser/account/developer/own-apps.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import { appOf, newActor, openOwnApps, registerApp } from '../../../support/developer-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'

let world: MigratedDatabase
let deps: OwnAppDeps
let alice: Actor
let clientId: string

beforeAll(async () => {
  ;({ world, deps } = await openOwnApps())
  alice = await newActor(world)
  clientId = (await registerApp(alice, deps)).clientId
})
afterAll(() => world.close())

const add = (username: string) => addTester({ clientId, username }, alice, deps)

test('a tester may use the app until they are removed; others may not', async () => {
  const bob = await newActor(world)
  const mayTest = () => deps.apps.mayTest(bob.user.userId, clientId)
  expect(await mayTest()).toBe(false)
  expect(await add(` ${bob.user.username} `)).toEqual({ kind: 'done' })
  expect(await mayTest()).toBe(true)
  await removeTester({ clientId, username: bob.user.username }, alice, deps)
  expect(await mayTest()).toBe(false)
})

test('the right ends with its user, and is not for the next user of that name', async () => {
  const bob = await newActor(world)
  const { username } = bob.user
  await add(username)
  await createUserStore(world.database).delete(bob.user.userId, NOTE)
  const next = await newActor(world, username)
  expect(await deps.apps.mayTest(next.user.userId, clientId)).toBe(false)
  // The owner does not learn of the deletion.
  expect((await appOf(alice, clientId, deps)).testers).toEqual([username])
  await add(username)
  expect(await deps.apps.mayTest(next.user.userId, clientId)).toBe(true)
  await removeTester({ clientId, username }, alice, deps)
  expect(await deps.apps.mayTest(next.user.userId, clientId)).toBe(false)
})

test('a name that no user has gives no right to a user who gets it later', async () => {
  await add('a later user')
  const later = await newActor(world, 'a later user')
  expect(await deps.apps.mayTest(later.user.userId, clientId)).toBe(false)
  await removeTester({ clientId, username: 'a later user' }, alice, deps)
})

test('a user who does not exist is added like one who exists', async () => {
  expect(await add('no such user')).toEqual({ kind: 'done' })
  expect(await add('\0')).toEqual({ kind: 'malformed_name' })
  expect((await appOf(alice, clientId, deps)).testers).toEqual(['no such user'])
})

test('there are 25 at most, also if they are added at the same moment', async () => {
  for (let count = 1; count < 24; count += 1) await add(`tester ${count}`)
  const outcomes = await Promise.all(['one more', 'another', 'a third'].map(add))
  expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['done', 'too_many', 'too_many'])
  expect((await appOf(alice, clientId, deps)).testers).toHaveLength(25)
})

test('an owner who is no tester any more keeps what they allowed', async () => {
  await removeTester({ clientId, username: 'tester 1' }, alice, deps)
  await add(alice.user.username)
  await removeTester({ clientId, username: alice.user.username }, alice, deps)
  expect(await world.run('select from authorizations where user_id = $1', [alice.user.userId])).toEqual([])
})
