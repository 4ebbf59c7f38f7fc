import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { lockGrantOf } from '../../support/row-lock.js'
import { isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
/** Reaches Postgres over a network that fails on demand. */
let shaky: TestServer
let shakyWindowless: TestServer
let proxy: PostgresProxy
let client: Credentials
let resourceServer: Credentials
let first: Tokens

beforeAll(async () => {
  server = await startTestServer()
  proxy = await startPostgresProxy(server.config.databaseUrl)
  shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  shakyWindowless = await startInstance(server, { config: { databaseUrl: proxy.url, refreshRetryWindow: 0 } })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  first = await obtainTokens(server, client)
})
afterEach(() => proxy.repair())
afterAll(async () => {
  for (const instance of [shaky, shakyWindowless]) await instance.close()
  await proxy.close()
  await server.close()
})

function expectOutage(answer: Awaited<ReturnType<typeof refresh>>): void {
  expect(answer.statusCode).toBe(503)
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.json()).toEqual({
    error: 'temporarily_unavailable',
    error_description: expect.any(String),
    error_uri: `${ISSUER}/errors/temporarily_unavailable`
  })
  expect(answer.body).not.toMatch(/postgres|connection|terminat/i)
}

async function successorsOfFirst(): Promise<number> {
  const rows = await server.database.query<{ count: number }>({
    name: 'test_count_successors',
    text: 'select count(*)::int as count from refresh_tokens where predecessor_hash = $1',
    values: [hashToken(first.refresh_token)]
  })
  return rows[0]?.count ?? -1
}

/** Checks that the retry gets one pair of valid tokens, and that no other pair exists. */
async function expectOnePairAfterRetry(): Promise<void> {
  const second = pairOf(await refresh(server, client, first.refresh_token))
  expect(await successorsOfFirst()).toBe(1)
  expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
  expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
}

describe('Postgres fails during a refresh', () => {
  test.each(['find_client_with_secrets', 'find_refresh_token', 'rotate_refresh_token'])(
    '%s never arrives: 503, and the old token still works',
    async (statement) => {
      proxy.loseStatement(statement)
      expectOutage(await refresh(shaky, client, first.refresh_token))
      expect(await successorsOfFirst()).toBe(0)
      expect(await isActive(server, resourceServer, first.access_token)).toBe(true)
      await expectOnePairAfterRetry()
    }
  )

  test('the rotation is committed and its response lost: 503, and the retry gets the tokens', async () => {
    proxy.loseAnswerTo('rotate_refresh_token')
    expectOutage(await refresh(shaky, client, first.refresh_token))
    expect(await successorsOfFirst()).toBe(1)
    await expectOnePairAfterRetry()
  })

  test('the same with REFRESH_RETRY_WINDOW=0: the retry is a reuse and ends the grant', async () => {
    proxy.loseAnswerTo('rotate_refresh_token')
    expectOutage(await refresh(shakyWindowless, client, first.refresh_token))
    expect((await refresh(server, client, first.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
    expect(await isActive(server, resourceServer, first.access_token)).toBe(false)
  })

  test('the connection ends during the statement: nothing is stored, and the old token works', async () => {
    const lock = await lockGrantOf(server, first.refresh_token)
    const refreshing = refresh(server, client, first.refresh_token)
    await lock.blocked(1)
    await lock.terminateBlocked()
    expectOutage(await refreshing)
    await lock.release()
    expect(await successorsOfFirst()).toBe(0)
    await expectOnePairAfterRetry()
  })

  test('ten concurrent refreshes whose shared statement is aborted: one pair of tokens after the retry', async () => {
    const lock = await lockGrantOf(server, first.refresh_token)
    const refreshing = Promise.all(Array.from({ length: 10 }, () => refresh(server, client, first.refresh_token)))
    await lock.blocked(1)
    await lock.terminateBlocked()
    await lock.release()
    for (const answer of await refreshing) if (answer.statusCode !== 200) expectOutage(answer)
    await expectOnePairAfterRetry()
  })

  test('a reuse whose grant cannot be ended is 503, not invalid_grant; the next one ends it', async () => {
    const second = pairOf(await refresh(shakyWindowless, client, first.refresh_token))
    proxy.loseStatement('end_grant')
    expectOutage(await refresh(shakyWindowless, client, first.refresh_token))
    expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
    expect((await refresh(shakyWindowless, client, first.refresh_token)).json().error).toBe('invalid_grant')
    expect(await isActive(server, resourceServer, second.access_token)).toBe(false)
  })
})

describe('refresh while Postgres is unavailable', () => {
  test('503, and the token works as soon as Postgres is available', async () => {
    proxy.cut()
    for (let time = 0; time < 3; time++) expectOutage(await refresh(shaky, client, first.refresh_token))
    proxy.repair()
    pairOf(await refresh(shaky, client, first.refresh_token))
  })

  test('a wrong secret is not evaluated: 503, not 401', async () => {
    proxy.cut()
    expectOutage(await refresh(shaky, client, first.refresh_token, { client_secret: 'wrong' }))
  })

  test('an error of the database that is no outage: 500 server_error, not 4xx, and the token stays valid', async () => {
    const refusing = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        query: (statement) =>
          database.query(
            statement.name.startsWith('rotate_refresh_token')
              ? { name: 'test_bad', text: 'select 1/0', values: [] }
              : statement
          )
      })
    })
    const answer = await refresh(refusing, client, first.refresh_token)
    expect([answer.statusCode, answer.json().error]).toEqual([500, 'server_error'])
    expect(answer.body).not.toMatch(/division|select/i)
    await refusing.close()
    await expectOnePairAfterRetry()
  })
})
