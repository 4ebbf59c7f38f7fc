import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createPasskeyStore } from '../../../../src/features/passkeys/passkey-store.js'
import { NOTE } from '../../../support/audit-note.js'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { Browser } from '../../../support/browser.js'
import { PASSWORD } from '../../../support/flow.js'
import { startPausingInstance } from '../../../support/pausing-instance.js'

let server: TestServer
let started: Awaited<ReturnType<typeof startPausingInstance>>

beforeAll(async () => {
  server = await startTestServer()
  started = await startPausingInstance(server)
})
afterAll(async () => {
  await started.paused.close()
  await server.close()
})

test('a sign-in whose user was read before an operator removed the passkeys opens no session', async () => {
  const { paused, pauses } = started
  const userId = await server.createUser('alice', PASSWORD)
  const text = `insert into passkeys (passkey_id, user_id, public_key, counter, transports, device_type, backed_up, aaguid,
      name, position, created_at)
    values ($1, $2, '\\x00', 0, '{}', 'singleDevice', false, gen_random_uuid(), 'Laptop', 1, now())`
  await server.database.query({ name: 'test_passkey', text, values: ['a passkey', userId] })
  pauses.next = { before: 'open_session', run: () => createPasskeyStore(server.database).removeAll(userId, NOTE) }
  const browser = new Browser(paused.publicServer, paused.config.issuer)
  const page = await browser.open(`${ISSUER}/login`)
  expect((await browser.submitOnly(page, { username: 'alice', password: PASSWORD })).statusCode).toBe(303)
  expect(pauses.next).toBeUndefined()
  expect(await server.deps.session.sessions.list(userId)).toEqual([])
})
