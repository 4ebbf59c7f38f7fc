import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from '../src/index.js'

describe('createTestDatabase', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  test('the database is empty, uses UTF8, and the test may create objects', async () => {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const encoding = await client.query('SHOW server_encoding')
    const tables = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    await client.query('CREATE TABLE note (text text)')
    await client.end()
    expect(encoding.rows).toEqual([{ server_encoding: 'UTF8' }])
    expect(tables.rows).toEqual([])
  })

  test('a dropped database is removed even if a connection is open', async () => {
    const other = await createTestDatabase()
    const forgotten = new pg.Client({ connectionString: other.url })
    forgotten.on('error', () => {})
    await forgotten.connect()
    await other.drop()
    await expect(new pg.Client({ connectionString: other.url }).connect()).rejects.toMatchObject({ code: '3D000' })
  })

  test('without the cluster of npm test: the error says how to start one', async () => {
    const before = process.env.TEST_POSTGRES_URL
    delete process.env.TEST_POSTGRES_URL
    await expect(createTestDatabase()).rejects.toThrow('npm test')
    process.env.TEST_POSTGRES_URL = before
  })
})

describe.each([
  { name: 'this run’s Redis', serverUrl: process.env.TEST_REDIS_URL },
  { name: 'emulation', serverUrl: undefined }
])('createTestRedis, $name', ({ serverUrl }) => {
  const before = process.env.TEST_REDIS_URL
  let first: TestRedis
  beforeAll(() => {
    if (serverUrl === undefined) delete process.env.TEST_REDIS_URL
    first = createTestRedis()
  })
  afterAll(async () => {
    await first.close()
    if (before !== undefined) process.env.TEST_REDIS_URL = before
  })

  test('starts empty after an earlier one was used', async () => {
    await first.client.set('left', 'behind')
    const second = createTestRedis()
    expect(await second.client.get('left')).toBeNull()
    await second.close()
  })

  test('a duplicate of the client sees the same data', async () => {
    await first.client.set('shared', 'yes')
    const duplicate = first.client.duplicate()
    expect(await duplicate.get('shared')).toBe('yes')
    duplicate.disconnect()
  })

  test('the url is defined only with a real server', () => {
    expect(first.url?.startsWith('redis://')).toBe(serverUrl === undefined ? undefined : true)
  })
})
