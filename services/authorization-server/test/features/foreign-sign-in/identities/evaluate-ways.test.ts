import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { evaluateWays } from '../../../../src/features/foreign-sign-in/identities/evaluate-ways.js'
import { readIdentityState } from '../../../../src/features/foreign-sign-in/identities/identity-state-store.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { insertIdentity, LOGIN_ISSUER } from '../../../support/handoff.js'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await insertIdentity(server, await server.createUser('alice', PASSWORD), 'alice')
  await insertIdentity(server, await server.createUser('bob', PASSWORD), 'bob', `${LOGIN_ISSUER}/`)
  await server.createUser('carol', PASSWORD)
})
afterAll(() => server.close())

const evaluate = async (local: boolean, issuers: readonly string[]) =>
  evaluateWays(await readIdentityState(server.database, issuers), { local })

test('users who have no identity of a configured issuer are a warning without local sign-in', async () => {
  expect(await evaluate(false, [LOGIN_ISSUER])).toMatchObject([
    { severity: 'warning', what: '2 of 3 enabled users have no identity of a configured issuer' },
    { severity: 'warning', what: expect.stringContaining(`${LOGIN_ISSUER}/ (1)`) }
  ])
})

test('with local sign-in and all issuers configured, everything is ok', async () => {
  expect(await evaluate(true, [LOGIN_ISSUER, `${LOGIN_ISSUER}/`])).toMatchObject([
    { severity: 'ok' },
    { severity: 'ok' }
  ])
})
