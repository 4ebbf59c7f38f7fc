import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Administration, lastChangeIn, startAdministration } from '../../support/administration.js'
import { collectAuditLog, idOf } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { PASSWORD } from '../../support/flow.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

const { logger, eventsOf } = collectAuditLog()

let server: TestServer
let admin: Administration
let client: Credentials
let resourceServer: Credentials
let userId: string

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
  userId = await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

const list = async (query = '') => (await admin.call('GET', `/grants${query}`)).json()

test('GET lists each grant once, in pages, with the documents of the command line', async () => {
  for (let count = 0; count < 3; count += 1) await obtainTokens(server, client)
  const { out } = await runCommand(server.database, ['grants', 'list', '--json'])
  const first = await list('?limit=2')
  const second = await list(`?limit=2&after=${first.next}`)
  expect([...first.grants, ...second.grants]).toEqual(JSON.parse(out).grants)
  expect([first.grants.length, second.grants.length, second.next]).toEqual([2, 1, undefined])
  expect((await list(`?user_id=${userId}&client_id=${client.clientId}`)).grants).toHaveLength(3)
})

test("DELETE ends the grant's token immediately, audited in table and log with the key", async () => {
  const { access_token } = await obtainTokens(server, client)
  const { grants } = await list()
  const alive: string[] = []
  for (const { grant_id } of grants) alive.push(grant_id)
  for (const grantId of alive) {
    const answer = await admin.call('DELETE', `/grants/${grantId}`)
    expect([answer.statusCode, answer.json()]).toEqual([200, { grant_id: grantId }])
    const details = { grantId, actor: admin.actor }
    const entry = { event: 'grant_revoked', user_id: userId, client_id: client.clientId, address: '127.0.0.1', details }
    expect(await lastChangeIn(server)).toEqual({ ...entry, request_id: idOf(answer) })
    const { clientId } = client
    expect(eventsOf(answer)).toEqual([{ event: 'grant_revoked', userId, clientId, address: '127.0.0.1', ...details }])
  }
  expect(await isActive(server, resourceServer, access_token)).toBe(false)
  expect(await list()).toEqual({ grants: [] })
})

test('POST revoke ends all tokens of a user or to a client immediately', async () => {
  for (const [body, ended] of [
    [{ user_id: userId }, { ended_grants: 1 }],
    [{ client_id: client.clientId }, {}],
    [{ user_id: userId, client_id: client.clientId }, { ended_grants: 1 }]
  ] as const) {
    const { access_token } = await obtainTokens(server, client)
    const answer = await admin.call('POST', '/grants/revoke', body)
    expect([answer.statusCode, answer.json()]).toEqual([200, { ...body, ...ended }])
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
    expect(await lastChangeIn(server)).toMatchObject({ event: 'grants_revoked', details: { actor: admin.actor } })
  }
})

test.each([
  { name: 'neither user nor client', call: () => admin.call('POST', '/grants/revoke', {}), status: 422 },
  { name: 'no body', call: () => admin.call('POST', '/grants/revoke'), status: 400 },
  { name: 'an unknown user', call: () => admin.call('POST', '/grants/revoke', { user_id: randomUUID() }), status: 404 },
  {
    name: 'a name instead of an id',
    call: () => admin.call('POST', '/grants/revoke', { user_id: 'alice' }),
    status: 404
  },
  { name: 'an unknown client', call: () => admin.call('GET', '/grants?client_id=nothing'), status: 404 },
  { name: 'an unknown grant', call: () => admin.call('DELETE', `/grants/${randomUUID()}`), status: 404 },
  { name: 'a malformed after', call: () => admin.call('GET', '/grants?after=a.b.c'), status: 422 }
])('$name is $status', async ({ call, status }) => {
  expect((await call()).statusCode).toBe(status)
})
