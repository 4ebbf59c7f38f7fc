import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { Client } from 'pg'
import { MIGRATED } from '../../support/migrated-database.js'

const CLIENT = `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
  issues_refresh_tokens, consent, created_at) values ($1, 'App', 'confidential', '{}', '{}', '{}', true, true, 'ask', now())`
const RESOURCE_SERVER = `insert into resource_servers (client_id, name, audience, normal_audience, secret_hash, created_at)
  values ('rs', 'files', 'https://files.example', 'https://files.example/', 'x', now())`

let testDatabase: TestDatabase
let operator: Client
let heard: unknown[]
let id: string

beforeAll(async () => {
  testDatabase = await createTestDatabase(MIGRATED)
  operator = new Client({ connectionString: testDatabase.url })
  await operator.connect()
  await operator.query('listen valetkey_registry')
  operator.on('notification', ({ payload }) => heard.push(JSON.parse(payload ?? '')))
})
beforeEach(async () => {
  heard = []
  id = `client_${randomUUID()}`
  await operator.query(CLIENT, [id])
  await operator.query(`insert into client_secrets values ($1, 'x', now(), null)`, [id])
  await announced()
})
afterAll(async () => {
  await operator.end()
  await testDatabase.drop()
})

/** All that was announced since the last call: Postgres delivers in the order of the commits. */
async function announced(): Promise<unknown[]> {
  await operator.query(`notify valetkey_registry, '"mark"'`)
  await operator.query('select 1')
  expect(heard.at(-1)).toBe('mark')
  return heard.splice(0).slice(0, -1)
}

const client = (key = id) => ({ table: 'clients', key })

describe('changes announced to the registry', () => {
  test.each<{ name: string; sql: string; with?: () => string[]; data(): object[] }>([
    { name: 'a client is created', sql: CLIENT, with: () => [`${id}_2`], data: () => [client(`${id}_2`)] },
    {
      name: 'a client is disabled',
      sql: 'update clients set disabled_at = now() where client_id = $1',
      data: () => [client()]
    },
    { name: 'a client is renamed', sql: `update clients set name = 'x' where client_id = $1`, data: () => [client()] },
    {
      name: 'a client with its secret is deleted',
      sql: 'delete from clients where client_id = $1',
      data: () => [client()]
    },
    {
      name: 'a secret is added',
      sql: `insert into client_secrets values ($1, 'y', now(), null)`,
      data: () => [client()]
    },
    {
      name: 'a secret gets an expiry',
      sql: 'update client_secrets set expires_at = now() where client_id = $1',
      data: () => [client()]
    },
    { name: 'a secret is deleted', sql: 'delete from client_secrets where client_id = $1', data: () => [client()] },
    {
      name: 'all secrets are deleted',
      sql: 'truncate client_secrets',
      with: () => [],
      data: () => [{ table: 'clients' }]
    },
    {
      name: 'all clients are deleted',
      sql: 'truncate clients cascade',
      with: () => [],
      data: () => [{ table: 'clients' }]
    },
    {
      name: 'a scope is created',
      sql: 'insert into scopes (name, title) values ($1, $1)',
      data: () => [{ table: 'scopes' }]
    },
    {
      name: 'a scope is changed',
      sql: `update scopes set title = 'x'`,
      with: () => [],
      data: () => [{ table: 'scopes' }]
    },
    { name: 'scopes are deleted', sql: 'delete from scopes', with: () => [], data: () => [{ table: 'scopes' }] },
    {
      name: 'a resource server is created',
      sql: RESOURCE_SERVER,
      with: () => [],
      data: () => [{ table: 'resource_servers' }]
    },
    {
      name: 'a resource server is deleted',
      sql: `delete from resource_servers where client_id = 'rs'`,
      with: () => [],
      data: () => [{ table: 'resource_servers' }]
    }
  ])('$name', async ({ sql, with: values, data }) => {
    await operator.query(sql, values?.() ?? [id])
    expect(await announced()).toEqual(data())
  })

  test('a client gets another id: both ids are announced', async () => {
    await operator.query('delete from client_secrets where client_id = $1', [id])
    await announced()
    await operator.query('update clients set client_id = $2 where client_id = $1', [id, `${id}_new`])
    expect(await announced()).toEqual([client(), client(`${id}_new`)])
  })

  test('a use of a secret or credential is not announced', async () => {
    await operator.query(RESOURCE_SERVER.replace(/'rs'/, "'rs_used'"))
    await announced()
    await operator.query('update client_secrets set last_used_at = now() where client_id = $1', [id])
    await operator.query('update resource_servers set last_used_at = now()')
    expect(await announced()).toEqual([])
  })

  test('a rolled-back change is not announced', async () => {
    await operator.query('begin')
    await operator.query('update clients set disabled_at = now() where client_id = $1', [id])
    await operator.query('rollback')
    expect(await announced()).toEqual([])
  })
})
