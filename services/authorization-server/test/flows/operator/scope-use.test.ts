import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { PASSWORD } from '../../support/flow.js'
import { obtainTokens } from '../../support/tokens.js'

let server: TestServer
const scopes = (...args: string[]) => runCommand(server.database, ['scopes', ...args])

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

describe('scopes delete --dry-run', () => {
  let count = 0
  let name: string

  beforeEach(async () => {
    count += 1
    name = `reports.read/${count}`
    await scopes('create', name, '--title', 'Your reports')
  })

  test('shows the clients, grants and users that would lose it, and deletes nothing', async () => {
    const client = await server.createClient({ requiredScopes: ['files.read', name] })
    const only = await server.createClient({ requiredScopes: [name] })
    const other = await server.createClient()
    await obtainTokens(server, client, { scope: `files.read ${name}` })
    await obtainTokens(server, client, { scope: 'files.read' })
    await obtainTokens(server, only, { scope: name })
    await obtainTokens(server, other, {})
    const clientIds = [client.clientId, only.clientId].toSorted()
    const { code, out } = await scopes('delete', name, '--dry-run', '--json')
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      {
        name,
        client_ids: clientIds,
        only_scope_of: [only.clientId],
        live_grants: 2,
        users: 1,
        all_grants_read: true
      }
    ])
    expect((await scopes('delete', name, '--dry-run')).out).toBe(
      [
        `It is the only scope of client ${only.clientId}: register another one, or delete the client first.`,
        `Deleting the scope ${name} would take it from 2 clients and 2 live grants of 1 users.`,
        ...clientIds.map((clientId) => `client ${clientId}`),
        ''
      ].join('\n')
    )
    expect((await scopes('list')).out).toContain(name)
    await runCommand(server.database, ['clients', 'delete', only.clientId, '--yes'])
    expect(JSON.parse((await scopes('delete', name, '--dry-run', '--json')).out)).toMatchObject({ live_grants: 1 })
  })

  test('counts the grants of clients that no operator registered, too', async () => {
    const client = await server.createClient({ requiredScopes: [name] })
    await obtainTokens(server, client, { scope: name })
    await server.database.query({
      name: '',
      text: `update clients set origin = 'discovered', required_scopes = '{}' where client_id = $1`,
      values: [client.clientId]
    })
    expect(JSON.parse((await scopes('delete', name, '--dry-run', '--json')).out)).toMatchObject({ live_grants: 1 })
  })

  test('says that a built-in scope cannot be deleted, and 3 for an unknown one', async () => {
    expect((await scopes('delete', 'files.read:images', '--dry-run')).out).toMatch(
      /^It is built in and cannot be deleted\.\n/
    )
    expect((await scopes('delete', 'unknown', '--dry-run')).code).toBe(3)
  })

  test('a scope that was created again is not in earlier grants', async () => {
    const client = await server.createClient({ requiredScopes: ['files.read', name] })
    await obtainTokens(server, client, { scope: `files.read ${name}` })
    await scopes('delete', name, '--yes', '--from-clients')
    await scopes('create', name, '--title', 'Again')
    await runCommand(server.database, ['clients', 'update', client.clientId, '--optional-scope', name])
    const { out } = await scopes('delete', name, '--dry-run', '--json')
    expect(JSON.parse(out)).toMatchObject({ client_ids: [client.clientId], live_grants: 0, users: 0 })
  })
})
