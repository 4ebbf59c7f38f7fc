import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createIdentityStore } from '../../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { NOTE } from '../../../../support/audit-note.js'
import { startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { PASSWORD } from '../../../../support/flow.js'
import { signInDuring } from '../../../../support/late-sign-in.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(async () => {
  await server.close()
})

test('a sign-in whose user was read before an operator unlinked an identity opens no session', async () => {
  const userId = await server.createUser('alice', PASSWORD)
  const identities = createIdentityStore(server.database)
  const identity = { issuer: 'https://login.example', subject: 'alice' }
  await identities.link(userId, identity, NOTE)
  await signInDuring(server, 'alice', () => identities.unlink(userId, identity, NOTE))
  expect(await server.deps.session.sessions.list(userId)).toEqual([])
})
