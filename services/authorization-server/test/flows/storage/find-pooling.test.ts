import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { findPooling } from '@valetkey/service-kit'

let testDatabase: TestDatabase

beforeAll(async () => {
  testDatabase = await createTestDatabase()
})
afterAll(() => testDatabase.drop())

/** Nothing listens on port 1. */
const withStoppedServer = (url: string) => url.replace(/@([^/]+)/, '@127.0.0.1:1,$1')

test('of several servers, the first that responds is examined', async () => {
  expect(await findPooling(withStoppedServer(testDatabase.url))).toBe('direct')
})

test('if no server responds, the last error is thrown', async () => {
  const url = testDatabase.url.replace(/@[^/]+/, '@127.0.0.1:1,127.0.0.1:1')
  await expect(findPooling(url)).rejects.toThrow('ECONNREFUSED')
})
