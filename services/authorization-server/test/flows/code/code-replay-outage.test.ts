import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import {
  auditOf,
  grantOf,
  kindOf,
  PKCE,
  recordOf,
  redisKeysOf,
  remainingLife,
  unknownCode,
  VERIFIER
} from '../../support/codes.js'
import { freePort } from '../../support/failing-network.js'
import { exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { expectOutage, expectRefusal } from '../../support/refusals.js'
import { lockGrantOfCode } from '../../support/row-lock.js'
import { isActive, pairOf } from '../../support/tokens.js'

const ALREADY_USED = 'authorization code was already used'

let server: TestServer
/** Reaches Postgres over a network that fails on demand. */
let shaky: TestServer
let proxy: PostgresProxy
let client: Credentials
let resourceServer: Credentials
let code: string
const right = { code_verifier: VERIFIER }

beforeAll(async () => {
  server = await startTestServer()
  proxy = await startPostgresProxy(server.config.databaseUrl)
  shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  code = await obtainCode(server, client, { change: PKCE })
})
afterEach(() => proxy.mend())
afterAll(async () => {
  await shaky.close()
  await proxy.close()
  await server.close()
})

async function grantIdOf({ database }: TestServer, presented: string): Promise<string | undefined> {
  const text = 'select grant_id from grants where code_hash = $1'
  const statement = { name: 'test_grant_id', text, values: [hashToken(presented)] }
  return (await database.query<{ grant_id: string }>(statement))[0]?.grant_id
}

/** The code works as if nothing had happened, and once. */
async function expectRedeemable(): Promise<void> {
  expect(await grantOf(server, code)).toBeUndefined()
  const tokens = pairOf(await exchange(server, client, code, right))
  expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
  expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
  expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
  expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: true, accessTokens: 1, refreshTokens: 1 })
}

describe('Postgres fails in the middle of an exchange', () => {
  test.each([
    { statement: 'find_client_with_secrets', times: 1 },
    { statement: 'store_exchange', times: 2 }
  ])('$statement never arrives, at $times tries: 503, and the code works after it', async ({ statement, times }) => {
    proxy.loseStatement(statement, times)
    expectOutage(await exchange(shaky, client, code, right))
    await expectRedeemable()
  })

  test('the redemption never arrives, once: it is sent again, and the client notices nothing', async () => {
    proxy.loseStatement('store_exchange')
    const tokens = pairOf(await exchange(shaky, client, code, right))
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
  })

  test('the connection is ended within the statement, twice: 503, nothing of it stays, and the code works', async () => {
    const lock = await lockGrantOfCode(server, code)
    const exchanging = exchange(server, client, code, right)
    for (let time = 0; time < 2; time++) {
      await lock.blocked(1)
      await lock.terminateBlocked()
    }
    expectOutage(await exchanging)
    await lock.release()
    await expectRedeemable()
  })

  /** Postgres fails when the code has been taken for so long. */
  async function failAfter(milliseconds: number): Promise<void> {
    const failing = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        async query(statement) {
          if (!statement.name.startsWith('store_exchange')) return database.query(statement)
          const [tombstone = ''] = await redisKeysOf(server, code)
          await server.redis.pexpire(tombstone, (await server.redis.pttl(tombstone)) - milliseconds)
          throw new StoreUnavailable('postgres', undefined)
        }
      })
    })
    expectOutage(await exchange(failing, client, code, right))
    await failing.close()
  }

  test('the code is put back for what is left of its life, and its tombstone is gone', async () => {
    const record = await recordOf(server, code)
    const before = await remainingLife(server, code)
    await failAfter(5_000)
    // The same but for its redirect, and for the note of the exchange that may have been carried out.
    const [start] = /^issued \S+ \S+ /.exec(record) ?? []
    expect((await recordOf(server, code)).startsWith(start ?? 'none')).toBe(true)
    expect(await recordOf(server, code)).not.toContain('\n')
    expect(await remainingLife(server, code)).toBeLessThanOrEqual(before - 5_000)
    expect(await remainingLife(server, code)).toBeGreaterThan(before - 15_000)
    await expectRedeemable()
  })

  test('a code whose life is over meanwhile cannot be taken, and is not taken for a used one', async () => {
    await failAfter(20_000)
    const late = await exchange(server, client, code, right)
    expectRefusal(late, 400, 'invalid_grant')
    expect(late.json().error_description).not.toContain('already used')
    expect(await grantOf(server, code)).toBeUndefined()
  })

  test('a code that was put back is bound as before', async () => {
    proxy.loseStatement('store_exchange', 2)
    expectOutage(await exchange(shaky, client, code, right))
    expectRefusal(await exchange(server, client, code), 400, 'invalid_grant')
    const uri = { redirect_uri: 'https://app.example/other' }
    expectRefusal(await exchange(server, client, code, { ...right, ...uri }), 400, 'invalid_grant')
    expectRefusal(await exchange(server, await server.createClient(), code, right), 400, 'invalid_grant')
    await expectRedeemable()
  })

  test('again and again: put back every time', async () => {
    for (let time = 0; time < 3; time++) {
      proxy.loseStatement('store_exchange', 2)
      expectOutage(await exchange(shaky, client, code, right))
    }
    await expectRedeemable()
  })

  test('the redemption is carried out and its answer is lost: the second try finds its own tokens', async () => {
    proxy.loseAnswerTo('store_exchange')
    const tokens = pairOf(await exchange(shaky, client, code, right))
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
  })

  test('the second answer is lost as well: 503, and the retry gets tokens; those of the first exchange have ended', async () => {
    proxy.loseAnswerTo('store_exchange', 2)
    expectOutage(await exchange(shaky, client, code, right))
    const undelivered = await grantIdOf(server, code)
    const answer = await exchange(server, client, code, right)
    const tokens = pairOf(answer)
    expect((await auditOf(server, answer)).map(({ event }) => event)).toEqual(['code_redeemed'])
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expect(await grantIdOf(server, code)).not.toBe(undelivered)
    expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
  })

  test('again and again the answer is lost: the last exchange is delivered, and it alone has tokens', async () => {
    for (let time = 0; time < 3; time++) {
      proxy.loseAnswerTo('store_exchange', 2)
      expectOutage(await exchange(shaky, client, code, right))
    }
    const tokens = pairOf(await exchange(shaky, client, code, right))
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
  })

  test('twenty at once over the failing network: one pair at most, and 503 or invalid_grant for the others', async () => {
    proxy.loseStatement('store_exchange', 2)
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(shaky, client, code, right)))
    const kinds = new Set(answers.map(kindOf))
    for (const kind of kinds) expect(['200', '400 invalid_grant', '503 temporarily_unavailable']).toContain(kind)
    expect((await grantOf(server, code))?.accessTokens).toBeLessThanOrEqual(1)
  })
})

describe('Postgres fails at a replay', () => {
  test('the grant cannot be ended: 503, not invalid_grant; the next replay ends it', async () => {
    const tokens = pairOf(await exchange(server, client, code, right))
    proxy.loseStatement('end_replayed_grant')
    expectOutage(await exchange(shaky, client, code, right))
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expectRefusal(await exchange(shaky, client, code, right), 400, 'invalid_grant', ALREADY_USED)
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
  })

  test('the grant cannot be asked about a code that Redis does not know: 503, not invalid_grant', async () => {
    proxy.loseStatement('find_grant_by_code')
    expectOutage(await exchange(shaky, client, unknownCode(), right))
  })
})

describe('a store is away', () => {
  test('Postgres: 503 as long as it is, and the code works as soon as it is back', async () => {
    proxy.cut()
    for (let time = 0; time < 3; time++) expectOutage(await exchange(shaky, client, code, right))
    proxy.mend()
    pairOf(await exchange(shaky, client, code, right))
  })

  test.each([
    { name: 'right', change: right },
    { name: 'wrong', change: {} }
  ])('Redis: a $name exchange is 503, the code works after it, and refreshing goes on', async ({ change }) => {
    const earlier = await obtainCode(server, client, { change: PKCE })
    const tokens = pairOf(await exchange(server, client, earlier, right))
    const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
    const cutOff = await startInstance({ ...server, redis: nowhere })
    expectOutage(await exchange(cutOff, client, code, change))
    pairOf(await refresh(cutOff, client, tokens.refresh_token))
    nowhere.disconnect()
    await cutOff.close()
    await expectRedeemable()
  })

  test('a database that refuses the statement, which is no outage: 500, never 4xx, and the code works after it', async () => {
    const refusing = await startInstance(server, {
      wrap: (database) => ({
        ...database,
        query: (statement) =>
          database.query(
            statement.name.startsWith('store_exchange')
              ? { name: 'test_bad', text: 'select 1/0', values: [] }
              : statement
          )
      })
    })
    const answer = await exchange(refusing, client, code, right)
    expectRefusal(answer, 500, 'server_error')
    expect(answer.body).not.toMatch(/division|select/i)
    await refusing.close()
    await expectRedeemable()
  })
})
