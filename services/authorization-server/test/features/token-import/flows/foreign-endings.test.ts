import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startAdministration } from '../../../support/administration.js'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import {
  type Access,
  allEndings,
  type Ending,
  openAccess,
  revokeGrantOf,
  revokeRefreshToken
} from '../../../support/endings.js'
import { refresh } from '../../../support/flow.js'
import { isActive, pairOf } from '../../../support/tokens.js'
import { foreignToken, importFiles, tokenLine } from '../support/imports.js'

let server: TestServer
let resourceServer: Credentials
let endings: readonly Ending[]
const importLines = importFiles()

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
  const admin = await startAdministration(server, 'leavers')
  endings = [
    ...(await allEndings(server)),
    {
      name: 'an operator signs the user out everywhere',
      end: async ({ userId }) =>
        admin.call('POST', '/global-token-revocation', { sub_id: { format: 'opaque', id: userId } })
    },
    { name: 'an operator ends the grant', end: (access) => revokeGrantOf(admin, access) },
    { name: 'the client revokes the token', end: (access) => revokeRefreshToken(server, access) }
  ]
})
afterAll(() => server.close())

/** The tokens of the access are unknown: the imported one takes the place of the refresh token. */
async function importedAccess(): Promise<Access> {
  const access = await openAccess(server)
  await server.database.query({ name: '', text: 'delete from grants where user_id = $1', values: [access.userId] })
  const token = foreignToken()
  const line = tokenLine(token, { client_id: access.client.clientId, user: access.userId })
  expect((await importLines(server, [line])).code).toBe(0)
  return { ...access, tokens: { ...access.tokens, refresh_token: token } }
}

test('each ending of access ends an imported token that was not used, and one that was', async () => {
  expect(endings).toHaveLength(12)
  const survived: string[] = []
  for (const { name, end } of endings) {
    const unused = await importedAccess()
    await end(unused)
    if ((await refresh(server, unused.client, unused.tokens.refresh_token)).statusCode === 200) survived.push(name)
    const used = await importedAccess()
    const pair = pairOf(await refresh(server, used.client, used.tokens.refresh_token))
    await end(used)
    if (await isActive(server, resourceServer, pair.access_token)) survived.push(`${name}, after the first use`)
    if ((await refresh(server, used.client, pair.refresh_token)).statusCode === 200) survived.push(`${name}, successor`)
  }
  expect(survived).toEqual([])
})

test('a repeated import does not bring back what has ended', async () => {
  const { client, userId, tokens } = await importedAccess()
  await runCommand(server.database, ['users', 'sign-out-everywhere', userId, '--yes'])
  const line = tokenLine(tokens.refresh_token, { client_id: client.clientId, user: userId })
  const { code, out } = await importLines(server, [line], { more: ['--json'] })
  expect([code, JSON.parse(out)]).toMatchObject([0, { tokens: 0, existing: 1 }])
  expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
})

test('a token that is imported after the user ended the access of its client is refused', async () => {
  const access = await importedAccess()
  const [byUser] = endings
  await byUser?.end(access)
  const line = tokenLine(foreignToken(), { client_id: access.client.clientId, user: access.userId })
  const { code, said } = await importLines(server, [line])
  expect([code, said]).toEqual([2, expect.stringContaining('the access of the client client_')])
})

test('the user sees the app of an imported token on the page of connected apps, and ends it there', async () => {
  const access = await importedAccess()
  const page = await access.browser.open(`${server.config.issuer}/account/apps`)
  expect(page.body).toContain('Photo Printer')
})
