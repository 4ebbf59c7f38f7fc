import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import {
  auditOf,
  grantIdOf,
  grantOf,
  kindOf,
  PKCE,
  recordOf,
  redisKeysOf,
  remainingLife,
  unknownCode,
  VERIFIER
} from '../../support/codes.js'
import { basic, exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { listenOnFreePort, rawRequest } from '../../support/raw-connection.js'
import { expectOutage, expectRefusal } from '../../support/refusals.js'
import { lockGrantOfCode } from '../../support/row-lock.js'
import { stopMonotonicClock } from '../../support/stopped-timers.js'
import { isActive, pairOf } from '../../support/tokens.js'

const ALREADY_USED = 'authorization code was already used'
const right = { code_verifier: VERIFIER }

let server: TestServer
let client: Credentials
let resourceServer: Credentials
let code: string

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  client = await server.createClient()
  code = await obtainCode(server, client, { change: PKCE })
})
afterAll(() => server.close())

describe('a store fails', () => {
  /** Reaches Postgres over a network that fails on demand. */
  let shaky: TestServer
  let proxy: PostgresProxy
  let clock: ReturnType<typeof stopMonotonicClock>

  beforeAll(async () => {
    // A lost statement is sent again only if it was lost soon.
    clock = stopMonotonicClock()
    proxy = await startPostgresProxy(server.config.databaseUrl)
    shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  })
  afterEach(() => proxy.repair())
  afterAll(async () => {
    clock.restart()
    await shaky.close()
    await proxy.close()
  })

  /** Checks that the code can be exchanged exactly once. */
  async function expectRedeemable(): Promise<void> {
    expect(await grantOf(server, code)).toBeUndefined()
    const tokens = pairOf(await exchange(server, client, code, right))
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
    expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: true, accessTokens: 1, refreshTokens: 1 })
  }

  describe('Postgres fails during an exchange', () => {
    test.each([
      { statement: 'find_client_with_secrets', times: 1 },
      { statement: 'store_exchange', times: 2 }
    ])('$statement is lost, $times times: 503, and the code works afterwards', async ({ statement, times }) => {
      proxy.loseStatement(statement, times)
      expectOutage(await exchange(shaky, client, code, right))
      await expectRedeemable()
    })

    test('the redemption statement is lost once: sent again, and the exchange succeeds', async () => {
      proxy.loseStatement('store_exchange')
      const tokens = pairOf(await exchange(shaky, client, code, right))
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    })

    test('the connection ends during the statement, twice: 503, nothing is stored, and the code works', async () => {
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

    /** Postgres fails when the code has been taken for so long, and again after the same time. */
    async function failTwiceAfter(milliseconds: number): Promise<void> {
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

    test('the code is restored with its remaining lifetime, without a tombstone', async () => {
      const record = await recordOf(server, code)
      const startedAt = Date.now()
      const before = await remainingLife(server, code)
      await failTwiceAfter(5_000)
      // The same but for its redirect, and for the note of the exchange that may have been carried out.
      const [start] = /^issued \S+ \S+ /.exec(record) ?? []
      expect((await recordOf(server, code)).startsWith(start ?? 'none')).toBe(true)
      expect(await recordOf(server, code)).not.toContain('\n')
      const after = await remainingLife(server, code)
      const passed = Date.now() - startedAt
      expect(after).toBeLessThanOrEqual(before - 10_000)
      expect(after).toBeGreaterThanOrEqual(before - 10_000 - passed - 1)
      await expectRedeemable()
    })

    test('a code that expires meanwhile cannot be taken, and is not refused as used', async () => {
      await failTwiceAfter(20_000)
      const late = await exchange(server, client, code, right)
      expectRefusal(late, 400, 'invalid_grant')
      expect(late.json().error_description).not.toContain('already used')
      expect(await grantOf(server, code)).toBeUndefined()
    })

    test('a restored code keeps its binding', async () => {
      proxy.loseStatement('store_exchange', 2)
      expectOutage(await exchange(shaky, client, code, right))
      expectRefusal(await exchange(server, client, code), 400, 'invalid_grant')
      const uri = { redirect_uri: 'https://app.example/other' }
      expectRefusal(await exchange(server, client, code, { ...right, ...uri }), 400, 'invalid_grant')
      expectRefusal(await exchange(server, await server.createClient(), code, right), 400, 'invalid_grant')
      await expectRedeemable()
    })

    test('repeated failures: the code is restored each time', async () => {
      for (let time = 0; time < 3; time++) {
        proxy.loseStatement('store_exchange', 2)
        expectOutage(await exchange(shaky, client, code, right))
      }
      await expectRedeemable()
    })

    test('the response to the redemption statement is lost: the retry finds its own tokens', async () => {
      proxy.loseAnswerTo('store_exchange')
      const tokens = pairOf(await exchange(shaky, client, code, right))
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
    })

    test('the second response is lost as well: 503, the repeated exchange gets tokens, and those of the first have ended', async () => {
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

    test('repeated losses of the response: only the tokens of the last exchange are active', async () => {
      for (let time = 0; time < 3; time++) {
        proxy.loseAnswerTo('store_exchange', 2)
        expectOutage(await exchange(shaky, client, code, right))
      }
      const tokens = pairOf(await exchange(shaky, client, code, right))
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
    })

    test('20 concurrent exchanges over the failing network: at most one pair, and 503 or invalid_grant for the others', async () => {
      proxy.loseStatement('store_exchange', 2)
      const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(shaky, client, code, right)))
      const kinds = new Set(answers.map(kindOf))
      for (const kind of kinds) expect(['200', '400 invalid_grant', '503 temporarily_unavailable']).toContain(kind)
      expect((await grantOf(server, code))?.accessTokens).toBeLessThanOrEqual(1)
    })
  })

  describe('Postgres fails during a replay', () => {
    test('the grant cannot be ended: 503, not invalid_grant; the next replay ends it', async () => {
      const tokens = pairOf(await exchange(server, client, code, right))
      proxy.loseStatement('end_replayed_grant')
      expectOutage(await exchange(shaky, client, code, right))
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      expectRefusal(await exchange(shaky, client, code, right), 400, 'invalid_grant', ALREADY_USED)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
    })

    test('the grant of a code unknown to Redis cannot be read: 503, not invalid_grant', async () => {
      proxy.loseStatement('find_grant_by_code')
      expectOutage(await exchange(shaky, client, unknownCode(), right))
    })
  })

  describe('a store is unavailable', () => {
    test('Postgres: 503, and the code works as soon as Postgres is available', async () => {
      proxy.cut()
      for (let time = 0; time < 3; time++) expectOutage(await exchange(shaky, client, code, right))
      proxy.repair()
      pairOf(await exchange(shaky, client, code, right))
    })

    test.each([
      { name: 'valid', change: right },
      { name: 'invalid', change: {} }
    ])('Redis: a $name exchange is 503; refreshes succeed, and the code works later', async ({ change }) => {
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

    test('Postgres refuses the statement: 500, not 4xx, and the code works afterwards', async () => {
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
})

describe('a client that disconnects', () => {
  let paused: TestServer
  let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
  let port: number

  beforeAll(async () => {
    ;({ paused, pauses } = await startPausingInstance(server))
    port = await listenOnFreePort(paused.publicServer)
  })
  afterEach(() => {
    pauses.next = undefined
  })
  afterAll(() => paused.close())

  /** The exchange of the code, as bytes. */
  function rawExchange(): string {
    const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example/callback', ...right }
    const body = new URLSearchParams(form).toString()
    return rawRequest(
      'POST /token',
      [
        `Authorization: ${basic(client).authorization}`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`
      ],
      body
    )
  }

  /**
   * Sends an exchange and closes the connection while the server stores its tokens.
   * @param isStored when Postgres gets the statement
   */
  async function exchangeAndLeave(isStored: Promise<void> = Promise.resolve()): Promise<void> {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    const left = new Promise<void>((resolve) => {
      pauses.next = {
        before: 'store_exchange',
        run: async () => {
          const closed = once(paused.publicServer.server, 'test-connection-closed')
          socket.destroy()
          await closed
          resolve()
          await isStored
        }
      }
    })
    paused.publicServer.server.once('connection', (connection) => {
      connection.once('close', () => paused.publicServer.server.emit('test-connection-closed'))
    })
    socket.write(rawExchange())
    await left
    while (!(await recordOf(server, code)).startsWith('issued '))
      await new Promise((resolve) => setTimeout(resolve, 10))
  }

  test('a client that disconnected repeats the exchange while Postgres has not responded: no replay, and its tokens stay valid', async () => {
    let store = () => {}
    const isStored = new Promise<void>((resolve) => {
      store = resolve
    })
    await exchangeAndLeave(isStored)
    const repeated = await exchange(server, client, code, right)
    const { access_token } = pairOf(repeated)
    store()
    await refusalOfFirst()
    expect((await auditOf(server, repeated)).map(({ event }) => event)).toEqual(['code_redeemed'])
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
    expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
    expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
  })

  async function eventsOfClient(): Promise<{ event: string; reason: string | null }[]> {
    const text = `select event, details->>'reason' as reason from audit_events where client_id = $1`
    return server.database.query({ name: 'find_events', text, values: [client.clientId] })
  }

  /** The first exchange has ended when its refusal is in the audit table. */
  async function refusalOfFirst(): Promise<void> {
    while ((await eventsOfClient()).every(({ reason }) => reason !== 'client_disconnected'))
      await new Promise((resolve) => setTimeout(resolve, 20))
  }

  test('a client that disconnected before the response exchanges the code again: its first tokens end, and it is not a replay', async () => {
    await exchangeAndLeave()
    while ((await grantOf(server, code)) === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
    const answer = await exchange(server, client, code, right)
    const { access_token } = pairOf(answer)
    await refusalOfFirst()
    expect((await auditOf(server, answer)).map(({ event }) => event)).toEqual(['code_redeemed'])
    expect((await eventsOfClient()).filter(({ event }) => event === 'code_redeemed')).toHaveLength(1)
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
    expect(await grantOf(server, code)).toMatchObject({ redeemed: true, ended: false, accessTokens: 1 })
    expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
  })

  test('a replay whose client disconnects before it is judged: nothing ends, and no replay is recorded', async () => {
    const { access_token } = pairOf(await exchange(server, client, code, right))
    const socket = connect(port, '127.0.0.1')
    const arrived = once(paused.publicServer.server, 'request')
    socket.write(rawExchange())
    await arrived
    socket.resetAndDestroy()
    await refusalOfFirst()
    expect((await eventsOfClient()).map(({ event }) => event)).not.toContain('code_reused')
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
  })
})
