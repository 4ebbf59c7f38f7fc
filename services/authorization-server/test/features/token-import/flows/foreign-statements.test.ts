import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import { deleteExpiredForeignTokens } from '../../../../src/features/token-import/foreign-token-store.js'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { exchange, obtainCode, PASSWORD, refresh } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { isActive, pairOf } from '../../../support/tokens.js'
import { foreignToken, importFiles, tokenLine } from '../support/imports.js'

let server: TestServer
let client: Credentials
let resourceServer: Credentials
let userId: string
const importLines = importFiles()

beforeAll(async () => {
  server = await startTestServer()
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
  userId = await server.createUser('alice', PASSWORD)
})
beforeEach(() => server.database.query({ name: '', text: 'delete from foreign_refresh_tokens', values: [] }))
afterAll(() => server.close())

/** An instance that notes the names of its statements. */
async function countingInstance() {
  const names: string[] = []
  const wrap = (database: Database): Database => ({
    ...database,
    query: (statement) => {
      names.push(statement.name)
      return database.query(statement)
    }
  })
  const instance = await startInstance(server, { wrap })
  /** The statements of refreshes, by name, during this function. */
  const during = async (run: () => Promise<unknown>) => {
    names.length = 0
    await run()
    return names.filter((name) => name.includes('refresh')).map((name) => name.replace(/_in_access_tokens_\d+$/, ''))
  }
  return { instance, during }
}

const importOne = async (token: string) => {
  const line = tokenLine(token, { client_id: client.clientId, user: userId })
  expect((await importLines(server, [line])).code).toBe(0)
}

test('a token of this server costs no look-up in the table of foreign tokens, whether that is empty or not', async () => {
  const { instance, during } = await countingInstance()
  let { refresh_token: token } = pairOf(await exchange(server, client, await obtainCode(server, client)))
  const own = async () => {
    token = pairOf(await refresh(instance, client, token)).refresh_token
  }
  expect(await during(own)).toEqual(['find_refresh_token', 'rotate_refresh_tokens'])
  await importOne(foreignToken())
  expect(await during(own)).toEqual(['find_refresh_token', 'rotate_refresh_tokens'])
  expect(await during(() => refresh(instance, client, `${token}x`))).toEqual([])
  await instance.close()
})

test('a foreign value costs one look-up while the table has rows; while it is empty, the next one costs none', async () => {
  const { instance, during } = await countingInstance()
  const unknown = () => refresh(instance, client, foreignToken())
  await importOne(foreignToken())
  expect(await during(unknown)).toEqual(['find_foreign_refresh_token'])
  expect(await during(unknown)).toEqual(['find_foreign_refresh_token'])
  await server.database.query({ name: '', text: 'delete from foreign_refresh_tokens', values: [] })
  expect(await during(unknown)).toEqual(['find_foreign_refresh_token'])
  expect(await during(unknown)).toEqual([])
  await instance.close()
})

test('of first uses at two instances at once, all get the same tokens; a later one ends them', async () => {
  const other = await startInstance(server)
  const token = foreignToken()
  await importOne(token)
  const uses = Array.from({ length: 12 }, (_, index) => refresh(index % 2 === 0 ? server : other, client, token))
  const pairs = (await Promise.all(uses)).map(pairOf)
  expect(new Set(pairs.map(({ refresh_token: each }) => each)).size).toBe(1)
  const next = pairOf(await refresh(other, client, pairs[0]?.refresh_token ?? ''))
  expect((await refresh(server, client, token)).json().error).toBe('invalid_grant')
  expect(await isActive(server, resourceServer, next.access_token)).toBe(false)
  await other.close()
})

test('without a retry window, one of two first uses at once gets tokens, and the other ends them', async () => {
  const strict = await startInstance(server, { config: { refreshRetryWindow: 0 } })
  const token = foreignToken()
  await importOne(token)
  const answers = await Promise.all([refresh(strict, client, token), refresh(strict, client, token)])
  const [won, lost] = answers.toSorted((one, two) => one.statusCode - two.statusCode)
  expect([won?.statusCode, lost?.json().error]).toEqual([200, 'invalid_grant'])
  expect(await isActive(server, resourceServer, won?.json().access_token)).toBe(false)
  await strict.close()
})

test('a row is deleted at the end that the other server gave the token, and not before', async () => {
  const [token, other] = [foreignToken(), foreignToken()]
  await importOne(token)
  await importOne(other)
  const text = `update foreign_refresh_tokens set expires_at = now() where token_hash = sha256($1::bytea)`
  await server.database.query({ name: '', text, values: [Buffer.from(token)] })
  expect(await deleteExpiredForeignTokens(server.database)).toBe(false)
  expect((await refresh(server, client, token)).json().error).toBe('invalid_grant')
  expect((await refresh(server, client, other)).statusCode).toBe(200)
})
