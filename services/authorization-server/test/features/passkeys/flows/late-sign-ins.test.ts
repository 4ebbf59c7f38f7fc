import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createPasskeyStore } from '../../../../src/features/passkeys/passkey-store.js'
import { NOTE } from '../../../support/audit-note.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { signInDuring } from '../../../support/late-sign-in.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(async () => {
  await server.close()
})

test('a sign-in whose user was read before an operator removed the passkeys opens no session', async () => {
  const userId = await server.createUser('alice', PASSWORD)
  const text = `insert into passkeys (passkey_id, user_id, public_key, counter, transports, device_type, backed_up, aaguid,
      name, position, created_at)
    values ($1, $2, '\\x00', 0, '{}', 'singleDevice', false, gen_random_uuid(), 'Laptop', 1, now())`
  await server.database.query({ name: 'test_passkey', text, values: ['a passkey', userId] })
  await signInDuring(server, 'alice', () => createPasskeyStore(server.database).removeAll(userId, NOTE))
  expect(await server.deps.session.sessions.list(userId)).toEqual([])
})
