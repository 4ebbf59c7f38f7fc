import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client } from 'pg'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

const [FIRST, SECOND] = [600_000, 600_001]

let opened: MigratedDatabase
let operator: Client
let heard: string[]

beforeAll(async () => {
  opened = await createMigratedDatabase()
  operator = new Client({ connectionString: opened.url })
  await operator.connect()
  await operator.query('select make_access_token_buckets($1, $2)', [FIRST, SECOND])
  await operator.query('listen valetkey_revocations')
  operator.on('notification', ({ payload }) => heard.push(payload ?? ''))
})
afterAll(async () => {
  await operator.end()
  await opened.close()
})

test.each([
  { name: 'one hour', sql: `truncate access_tokens_${FIRST}` },
  { name: 'all hours, one notification', sql: 'truncate access_tokens' },
  { name: 'only the parent table', sql: 'truncate only access_tokens' }
])('truncating tables of access tokens sends a notification: $name', async ({ sql }) => {
  heard = []
  await operator.query(sql)
  expect(heard).toEqual(['{"reset": "access_tokens"}'])
})

test('dropping them sends no notification', async () => {
  heard = []
  await operator.query(`drop table access_tokens_${FIRST}, access_tokens_${SECOND}`)
  expect(heard).toEqual([])
})
