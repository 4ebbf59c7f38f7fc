import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { expectOutage } from '../../support/refusals.js'
import { bucketsOf } from '../../support/token-tables.js'
import { isActive, obtainTokens, pairOf } from '../../support/tokens.js'

let server: TestServer
let client: Credentials
let resourceServer: Credentials

const run = <Row extends Record<string, unknown>>(text: string) =>
  server.database.query<Row>({ name: '', text, values: [] })

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
beforeEach(dropTables)
afterAll(() => server.close())

async function dropTables(): Promise<void> {
  for (const bucket of await bucketsOf({ run })) await run(`drop table access_tokens_${bucket}`)
}

async function whileNoTableCanBeMade(work: () => Promise<void>): Promise<void> {
  await run('alter function make_access_token_buckets rename to make_nothing')
  try {
    await work()
  } finally {
    await run('alter function make_nothing rename to make_access_token_buckets')
  }
}

test('an exchange whose token table cannot be created: 503, and the repeated exchange succeeds', async () => {
  const code = await obtainCode(server, client)
  await whileNoTableCanBeMade(async () => expectOutage(await exchange(server, client, code)))
  const pair = pairOf(await exchange(server, client, code))
  expect(await isActive(server, resourceServer, pair.access_token)).toBe(true)
})

test('a refresh whose token table cannot be created: 503, and the repeated refresh succeeds', async () => {
  const { refresh_token } = await obtainTokens(server, client)
  await dropTables()
  await whileNoTableCanBeMade(async () => expectOutage(await refresh(server, client, refresh_token)))
  const pair = pairOf(await refresh(server, client, refresh_token))
  expect(await isActive(server, resourceServer, pair.access_token)).toBe(true)
})

test('a token whose table was dropped is inactive', async () => {
  const { access_token } = await obtainTokens(server, client)
  await dropTables()
  expect(await isActive(server, resourceServer, access_token)).toBe(false)
})
