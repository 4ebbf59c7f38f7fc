import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { type ClientAdministration, updateClient } from '../../../src/operator/use-cases/administer-client.js'
import {
  createScope,
  deleteScope,
  findScope,
  type ScopeAdministration
} from '../../../src/operator/use-cases/administer-scopes.js'
import { registerClient } from '../../../src/operator/use-cases/register-client.js'
import { createClientChangeStore } from '../../../src/storage/postgres/client-changes.js'
import { createClientLogoStore } from '../../../src/storage/postgres/client-logos.js'
import { createClientSecretStore } from '../../../src/storage/postgres/client-secrets.js'
import { createClientStore } from '../../../src/storage/postgres/clients.js'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createResourceServerStore } from '../../../src/storage/postgres/resource-servers.js'
import { createScopeStore } from '../../../src/storage/postgres/scopes.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { untilBlocked } from '../../support/until-blocked.js'

const AUTHOR = { actor: { kind: 'command_line', name: 'test' } } as const
const REGISTRATION = { name: 'App', type: 'confidential', redirectUris: ['https://app.example/cb'] } as const

let stores: MigratedDatabase
const AUDIENCE = 'https://files.example'
let deps: ClientAdministration & ScopeAdministration
let scope: string

beforeAll(async () => {
  stores = await createMigratedDatabase()
  const { database } = stores
  deps = {
    clients: createClientStore(database),
    changes: createClientChangeStore(database),
    secrets: createClientSecretStore(database),
    scopes: createScopeStore(database),
    resourceServers: createResourceServerStore(database),
    consents: createConsentStore(database),
    clientLogos: createClientLogoStore(database)
  }
})
beforeEach(async () => {
  scope = `x.${randomUUID()}`
  await createScope({ name: scope, title: 'X', description: '', translations: {} }, AUTHOR, deps)
})
afterAll(() => stores.close())

const newClient = async (requiredScopes = ['files.read']) =>
  (await registerClient({ ...REGISTRATION, requiredScopes }, AUTHOR, deps)).client
const scopesOfClient = async (clientId: string) => (await deps.clients.find(clientId))?.requiredScopes

/** Runs between the read of the catalogue and the write. */
const deletedMeanwhile = (): ClientAdministration => ({
  ...deps,
  scopes: {
    ...deps.scopes,
    async list() {
      const found = await createScopeStore(stores.database).list()
      if (found.some(({ name }) => name === scope)) await deleteScope({ name: scope, fromClients: false }, AUTHOR, deps)
      return found
    }
  }
})

test('an update to a scope that is deleted concurrently is refused', async () => {
  const { clientId } = await newClient()
  const settings = { requiredScopes: ['files.read', scope] }
  await expect(updateClient({ clientId, settings }, AUTHOR, deletedMeanwhile())).rejects.toThrow(/catalogue/)
  expect(await scopesOfClient(clientId)).toEqual(['files.read'])
})

test('a registration for a scope that is deleted concurrently is refused', async () => {
  const count = (await deps.clients.list()).length
  const registering = registerClient({ ...REGISTRATION, requiredScopes: [scope] }, AUTHOR, deletedMeanwhile())
  await expect(registering).rejects.toThrow(/catalogue/)
  expect(await deps.clients.list()).toHaveLength(count)
})

test('the deletion waits for a running update and removes the scope that it added', async () => {
  const { clientId } = await newClient()
  const other = new pg.Client({ connectionString: stores.url })
  await other.connect()
  await other.query('begin')
  await other.query('select 1 from scopes where name = $1 for key share', [scope])
  await other.query('update clients set required_scopes = required_scopes || $2::text where client_id = $1', [
    clientId,
    scope
  ])
  const deleting = deleteScope({ name: scope, fromClients: true }, AUTHOR, deps)
  await untilBlocked(stores.run)
  await other.query('commit')
  await other.end()
  await deleting
  expect(await scopesOfClient(clientId)).toEqual(['files.read'])
})

test('a consent that is stored during the deletion loses the scope', async () => {
  const [userId, { clientId }] = [await newUser(), await newClient([scope, 'files.read'])]
  const remembering = new pg.Client({ connectionString: stores.url })
  await remembering.connect()
  await remembering.query('begin')
  await rememberConsent(
    {
      ...stores.database,
      query: async (statement) => (await remembering.query(statement.text, [...statement.values])).rows
    },
    { userId, clientId, audience: AUDIENCE },
    [scope, 'files.read']
  )
  const deleting = deleteScope({ name: scope, fromClients: true }, AUTHOR, deps)
  await untilBlocked(stores.run)
  await remembering.query('commit')
  await remembering.end()
  await deleting
  expect(await createConsentStore(stores.database).findScope({ userId, clientId, audience: AUDIENCE })).toEqual([
    'files.read'
  ])
})

test('a consent to a deleted scope does not count for a new scope with this name', async () => {
  const [userId, { clientId }] = [await newUser(), await newClient([scope, 'files.read'])]
  const consents = createConsentStore(stores.database)
  await rememberConsent(stores.database, { userId, clientId, audience: AUDIENCE }, [scope, 'files.read'])
  // The state after a deletion that failed once the scope was deleted.
  await stores.run('delete from scopes where name = $1', [scope])
  await createScope({ name: scope, title: 'Y', description: '', translations: {} }, AUTHOR, deps)
  expect(await consents.findScope({ userId, clientId, audience: AUDIENCE })).toEqual(['files.read'])
})

async function newUser(): Promise<string> {
  const userId = randomUUID()
  await stores.run(
    'insert into users (user_id, username, canonical_name, password_hash, created_at) values ($1, $2, $2, $3, now())',
    [userId, userId, 'hash']
  )
  return userId
}

test.each([
  { name: 'files.reed:images', message: /^there is no scope files\.reed:images \(did you mean files\.read:images/ },
  { name: 'calendar', message: /^there is no scope calendar$/ },
  { name: 'two words', message: /^there is no scope two words$/ }
])('the error about the unknown scope $name suggests names that look like it', async ({ name, message }) => {
  await expect(findScope(name, deps)).rejects.toMatchObject({
    kind: 'not_found',
    message: expect.stringMatching(message)
  })
})
