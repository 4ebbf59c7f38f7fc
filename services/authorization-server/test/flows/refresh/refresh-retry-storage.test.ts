import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { bodyCredentials, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const clock = stopClock()
let server: TestServer
let client: Credentials
let first: Tokens
let second: Tokens

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
beforeEach(async () => {
  first = await obtainTokens(server, client)
  second = pairOf(await refresh(server, client, first.refresh_token))
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

async function storedAnswer(refreshToken: string): Promise<Buffer | null | undefined> {
  const rows = await server.database.query<{ retry_response: Buffer | null }>({
    name: 'test_retry_response',
    text: 'select retry_response from refresh_tokens where token_hash = $1',
    values: [hashToken(refreshToken)]
  })
  return rows[0]?.retry_response
}

/** Every row of every table as text, and every key and value of Redis. */
async function everythingStored(): Promise<string> {
  await server.deps.audit.close()
  const tables = await server.database.query<{ name: string }>({
    name: 'test_tables',
    text: `select table_name as name from information_schema.tables where table_schema = 'public'`,
    values: []
  })
  const texts: string[] = []
  for (const { name } of tables) {
    const text = `select t::text as line from "${name}" t`
    const rows = await server.database.query<{ line: string }>({ name: `test_dump_${name}`, text, values: [] })
    texts.push(...rows.map(({ line }) => line))
  }
  for (const key of await server.redis.keys('*')) {
    texts.push(key)
    if ((await server.redis.type(key)) === 'string') texts.push((await server.redis.get(key)) ?? '')
    if ((await server.redis.type(key)) === 'hash') texts.push(JSON.stringify(await server.redis.hgetall(key)))
  }
  return texts.join('\n')
}

describe('the stored response of a refresh', () => {
  test('no table and no Redis key contains a token or a part of it in any encoding', async () => {
    const stored = await everythingStored()
    // The dump is worth something only if it shows what is there.
    expect(stored).toContain(hashToken(second.refresh_token).toString('hex'))
    for (const token of [first.access_token, first.refresh_token, second.access_token, second.refresh_token]) {
      for (let start = 6; start + 12 <= token.length; start++) {
        const part = token.slice(start, start + 12)
        expect(stored).not.toContain(part)
        expect(stored).not.toContain(Buffer.from(part).toString('hex'))
      }
      expect(stored).not.toContain(Buffer.from(token.slice(6)).toString('base64').slice(4, 24))
    }
  })

  test('two responses of the same length have no common bytes: each has its own nonce', async () => {
    const other = await obtainTokens(server, client)
    await refresh(server, client, other.refresh_token)
    const answers = [await storedAnswer(first.refresh_token), await storedAnswer(other.refresh_token)]
    const runs = answers.map((answer) => new Set(answer?.toString('hex').match(/.{16}/g)))
    expect(runs[0]?.size).toBeGreaterThan(5)
    expect([...(runs[0] ?? [])].filter((run) => runs[1]?.has(run))).toEqual([])
  })

  test('is kept during the retry window, also by housekeeping', async () => {
    clock.advance(29)
    await createExpiredRows(server.database).eraseSomeRetryResponses()
    expect(await storedAnswer(first.refresh_token)).toBeInstanceOf(Buffer)
    expect(pairOf(await refresh(server, client, first.refresh_token)).refresh_token).toBe(second.refresh_token)
  })

  test('is erased when the retry window ends, and the successor still works', async () => {
    clock.advance(30)
    await createExpiredRows(server.database).eraseSomeRetryResponses()
    expect(await storedAnswer(first.refresh_token)).toBeNull()
    expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
  })

  test('is erased when the successor is used', async () => {
    const third = pairOf(await refresh(server, client, second.refresh_token))
    expect(await storedAnswer(first.refresh_token)).toBeNull()
    expect(await storedAnswer(second.refresh_token)).toBeInstanceOf(Buffer)
    expect(await storedAnswer(third.refresh_token)).toBeNull()
  })

  test.each(['a refused scope', 'another client', 'the new access token revoked'])('is kept after %s', async (what) => {
    if (what === 'a refused scope') await refresh(server, client, second.refresh_token, { scope: 'files.read:media' })
    else if (what === 'another client') await refresh(server, await server.createClient(), second.refresh_token)
    else await post(server, '/oauth/revoke', { token: second.access_token, ...bodyCredentials(client) })
    expect(await storedAnswer(first.refresh_token)).toBeInstanceOf(Buffer)
  })

  test('is not stored if the retry window is 0', async () => {
    const windowless = await startInstance(server, { config: { refreshRetryWindow: 0 } })
    const tokens = await obtainTokens(server, client)
    expect((await refresh(windowless, client, tokens.refresh_token)).statusCode).toBe(200)
    expect(await storedAnswer(tokens.refresh_token)).toBeNull()
    await windowless.close()
  })

  test('damaged in the database: 500 without details, and nothing ends', async () => {
    await server.database.query({
      name: 'test_damage',
      text: `update refresh_tokens set retry_response = set_byte(retry_response, 40, get_byte(retry_response, 40) # 1)
        where token_hash = $1`,
      values: [hashToken(first.refresh_token)]
    })
    const answer = await refresh(server, client, first.refresh_token)
    expect([answer.statusCode, answer.json().error]).toEqual([500, 'server_error'])
    expect(answer.body).not.toMatch(/authenticate|decipher|at /)
    expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
  })
})
