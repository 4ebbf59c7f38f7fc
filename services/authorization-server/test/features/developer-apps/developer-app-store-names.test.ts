import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { nameKeys } from '@valetkey/sign-in-rules'
import { createDeveloperAppStore } from '../../../src/features/developer-apps/developer-app-store.js'
import { createClientChangeStore } from '../../../src/storage/postgres/client-changes.js'
import { NOTE } from '../../support/audit-note.js'
import type { TestServer } from '../../support/authorization-server.js'
import { newApp, startDeveloperServer, VALID } from '../../support/developer.js'
import { PASSWORD } from '../../support/flow.js'
import { submitMultipart } from '../../support/multipart-form.js'
import { signedInBrowser } from '../../support/pages.js'

let server: TestServer

beforeAll(async () => {
  server = await startDeveloperServer('open')
  await server.createUser('alice', PASSWORD)
})
beforeEach(() => run('delete from clients'))
afterAll(() => server.close())

const run = (text: string) => server.database.query<Record<string, unknown>>({ name: '', text, values: [] })
const isTaken = (name: string, clientId = 'another') =>
  createDeveloperAppStore(server.database).isNameTaken(nameKeys(name), clientId)

/** Another name by an operator. */
async function rename(clientId: string, name: string): Promise<void> {
  const changes = createClientChangeStore(server.database)
  const client = await server.deps.admin.clients.clients.find(clientId)
  const { version = '' } = (await changes.findVersion(clientId)) ?? {}
  if (client === undefined) throw new Error('there is no such client')
  expect(await changes.update({ client: { ...client, name }, added: [] }, version, NOTE)).toBe(true)
}

test('a name is taken by a registered client, also in look-alike letters, and free when it gets another', async () => {
  const { clientId } = await server.createClient({ name: 'Wind Chimes' })
  expect([await isTaken('wind-chimes'), await isTaken('Wind Chimes', clientId)]).toEqual([true, false])
  await rename(clientId, 'Bells')
  expect([await isTaken('wind-chimes'), await isTaken('BELLS')]).toEqual([false, true])
})

test('the name that an operator gives to an app of a user is taken until its owner changes it', async () => {
  const alice = await signedInBrowser(server)
  const { clientId, url } = await newApp(server, alice, { name: 'Gongs' })
  expect([await isTaken('g0ngs'), await isTaken('Gongs', clientId)]).toEqual([true, false])
  await rename(clientId, 'Cymbals')
  expect(await isTaken('cymbals')).toBe(true)
  const edited = await submitMultipart(server, alice, await alice.open(`${url}/edit`), { ...VALID, name: 'Drums' })
  expect(edited.statusCode).toBe(303)
  expect([await isTaken('cymbals'), await isTaken('drums')]).toEqual([false, true])
})

test('among 20,000 clients, a name is found by its index, without reading all', async () => {
  await server.createClient({ name: 'Wind Chimes' })
  await run(`insert into clients (client_id, name, name_keys, type, redirect_uris, required_scopes, optional_scopes,
      requires_pkce, issues_refresh_tokens, consent, created_at)
    select gen_random_uuid()::text, 'App ' || n, array['app' || n], 'public', '{}', '{}', '{}', true, true, 'ask', now()
    from generate_series(1, 20000) n`)
  await run('analyze clients')
  expect([await isTaken('wind chimes'), await isTaken(randomUUID())]).toEqual([true, false])
  const plan = await run(`explain select from clients where name_keys && '{app7}' and client_id <> 'another'`)
  expect(JSON.stringify(plan)).toContain('clients_name_keys')
})
