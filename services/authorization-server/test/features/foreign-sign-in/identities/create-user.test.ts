import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { userNameKey } from '@valetkey/sign-in-rules'
import { createUserOf } from '../../../../src/features/foreign-sign-in/identities/create-user.js'
import { createIdentityStore } from '../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'

const NORA = 'Nora.Berg@Example.org'

let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
  const user = { userId: crypto.randomUUID(), username: NORA, passwordHash: undefined }
  await createUserStore(opened.database).create(user, NOTE)
})
afterAll(() => opened.close())

test('a user whom a provider names as an existing one in another spelling gets another name (RFC 8265 §3.3)', async () => {
  const identity = { issuer: 'https://id.example', subject: '1' }
  const request = { id: 'r', ip: '192.0.2.1', log: { info: () => {} } } as never
  const given = { username: NORA.toUpperCase(), displayName: undefined, way: 'test' }
  const created = await createUserOf(identity, given, request, createIdentityStore(opened.database))
  expect(created?.username).toBe(`${NORA.toUpperCase()}-2`)
})

test('a user whom a provider creates has the key of the name', async () => {
  const user = { userId: crypto.randomUUID(), username: 'Sina', displayName: undefined }
  const identity = { issuer: 'https://id.example', subject: 's' }
  await createIdentityStore(opened.database).createUser(user, identity, { ...NOTE, userId: user.userId })
  const rows = await opened.run(`select name_key from users where username = 'Sina'`)
  expect(rows).toEqual([{ name_key: userNameKey('Sina') }])
})
