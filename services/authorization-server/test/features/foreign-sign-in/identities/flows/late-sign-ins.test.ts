import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createIdentityStore } from '../../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { NOTE } from '../../../../support/audit-note.js'
import { ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { Browser } from '../../../../support/browser.js'
import { PASSWORD } from '../../../../support/flow.js'
import { startPausingInstance } from '../../../../support/pausing-instance.js'

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

test('a sign-in whose user was read before an operator unlinked an identity opens no session', async () => {
  const { paused, pauses } = started
  const userId = await server.createUser('alice', PASSWORD)
  const identities = createIdentityStore(server.database)
  const identity = { issuer: 'https://login.example', subject: 'alice' }
  await identities.link(userId, identity, NOTE)
  pauses.next = { before: 'open_session', run: () => identities.unlink(userId, identity, NOTE) }
  const browser = new Browser(paused.publicServer, paused.config.issuer)
  const page = await browser.open(`${ISSUER}/login`)
  expect((await browser.submitOnly(page, { username: 'alice', password: PASSWORD })).statusCode).toBe(303)
  expect(pauses.next).toBeUndefined()
  expect(await server.deps.session.sessions.list(userId)).toEqual([])
})
