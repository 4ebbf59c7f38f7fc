import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { Browser } from '../../support/browser.js'
import {
  auditOf,
  forgetInRedis,
  grantOf,
  kindOf,
  PKCE,
  redisKeysOf,
  rememberRedis,
  VERIFIER
} from '../../support/codes.js'
import { authorizeUrl, exchange, obtainCode, PASSWORD, refresh, responseParameters } from '../../support/flow.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { expectRefusal } from '../../support/refusals.js'
import { lockGrantOfCode } from '../../support/row-lock.js'
import { deleteRow, disable, isActive, pairOf, type Tokens } from '../../support/tokens.js'

const ALREADY_USED = 'authorization code was already used'
const right = { code_verifier: VERIFIER }

let server: TestServer
let resourceServer: Credentials
let client: Credentials
let code: string

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('a code that was used', () => {
  let other: Credentials

  beforeAll(async () => {
    await server.createUser('alice', PASSWORD)
    client = await server.createClient()
    other = await server.createClient()
  })
  beforeEach(async () => {
    code = await obtainCode(server, client, { change: PKCE })
  })

  async function expectAlive({ access_token, refresh_token }: Tokens): Promise<void> {
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
    pairOf(await refresh(server, client, refresh_token))
  }

  async function expectDead({ access_token, refresh_token }: Tokens): Promise<void> {
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
    expectRefusal(await refresh(server, client, refresh_token), 400, 'invalid_grant')
  }

  type Memory = { name: string; change(): Promise<unknown> }

  /** The possible states of a used code in Redis. The response to a replay is the same for all. */
  const MEMORIES: Memory[] = [
    { name: 'while its tombstone exists', change: async () => {} },
    { name: 'after its tombstone expired', change: () => forgetInRedis(server, code) },
    { name: 'after Redis lost all data', change: () => server.redis.flushdb() }
  ]

  describe.each(MEMORIES)('a used code, $name', ({ change: forget }) => {
    let first: Tokens
    beforeEach(async () => {
      first = pairOf(await exchange(server, client, code, right))
      await forget()
    })

    test('otherwise valid: refused as used, and all tokens of the grant end (RFC 6749 §4.1.2)', async () => {
      const answer = await exchange(server, client, code, right)
      expectRefusal(answer, 400, 'invalid_grant', ALREADY_USED)
      await expectDead(first)
      expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: true, accessTokens: 1, refreshTokens: 1 })
      const events = (await auditOf(server, answer)).map(({ event, reason }) => [event, reason])
      expect(events).toEqual([
        ['code_reused', null],
        ['request_refused', 'code_used']
      ])
    })

    test('tokens of a refresh end as well', async () => {
      const second = pairOf(await refresh(server, client, first.refresh_token))
      expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
      await expectDead(second)
      await expectDead(first)
    })

    test.each<{ name: string; wrong: Record<string, string>; reason: string }>([
      { name: 'a wrong redirect URI', wrong: { redirect_uri: 'https://app.example/other' }, reason: 'redirect_uri' },
      { name: 'no verifier', wrong: { code_verifier: '' }, reason: 'code_challenge' },
      { name: 'a wrong verifier', wrong: { code_verifier: 'w'.repeat(43) }, reason: 'code_challenge' },
      { name: 'another resource', wrong: { resource: 'https://x.example' }, reason: 'resource' }
    ])('with $name: refused with this reason, and nothing ends (OAuth 2.1 §7.5.2)', async ({ wrong, reason }) => {
      const answer = await exchange(server, client, code, { ...right, ...wrong })
      expectRefusal(answer, 400, 'invalid_grant', ALREADY_USED)
      expect(await auditOf(server, answer)).toEqual([
        { event: 'request_refused', reason: `code_used_and_wrong_${reason}` }
      ])
      await expectAlive(first)
    })

    test('from another client: refused, and nothing ends', async () => {
      const answer = await exchange(server, other, code, right)
      expectRefusal(answer, 400, 'invalid_grant', ALREADY_USED)
      expect((await auditOf(server, answer))[0]?.reason).toBe('code_used_and_wrong_client')
      await expectAlive(first)
    })

    test.each<{ name: string; wrong: Record<string, string>; kind: string }>([
      { name: 'a wrong secret', wrong: { client_secret: 'x' }, kind: '401 invalid_client' },
      { name: 'no redirect URI', wrong: { redirect_uri: '' }, kind: '400 invalid_request' },
      { name: 'another grant type', wrong: { grant_type: 'x' }, kind: '400 unsupported_grant_type' },
      { name: 'a malformed verifier', wrong: { code_verifier: 'x' }, kind: '400 invalid_grant' }
    ])('with $name: $kind, and nothing ends', async ({ wrong, kind }) => {
      expect(kindOf(await exchange(server, client, code, { ...right, ...wrong }))).toBe(kind)
      await expectAlive(first)
    })

    test('a valid replay after invalid ones ends the grant, and later replays get the same response', async () => {
      for (const wrong of [{ code_verifier: '' }, { redirect_uri: 'https://app.example/other' }])
        await exchange(server, client, code, { ...right, ...wrong })
      for (let time = 0; time < 3; time++)
        expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
      await expectDead(first)
      expect(await grantOf(server, code)).toMatchObject({ accessTokens: 1, refreshTokens: 1 })
    })

    test('a replay ends only its own grant', async () => {
      const secondCode = await obtainCode(server, client, { change: PKCE })
      const bystander = pairOf(await exchange(server, client, secondCode, right))
      await exchange(server, client, code, right)
      await expectDead(first)
      await expectAlive(bystander)
    })
  })

  describe('Redis loses or restores data', () => {
    test.each([
      { name: 'once', times: 1 },
      { name: 'three times', times: 3 }
    ])('a used code that a failover restores $name: redeemed only once, and its tokens end', async ({ times }) => {
      const failOver = await rememberRedis(server, code)
      const first = pairOf(await exchange(server, client, code, right))
      for (let time = 0; time < times; time++) {
        await failOver()
        const answer = await exchange(server, client, code, right)
        expectRefusal(answer, 400, 'invalid_grant', ALREADY_USED)
      }
      await expectDead(first)
      expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: true, accessTokens: 1, refreshTokens: 1 })
    })

    test('a restored used code with a wrong redirect URI: refused, and nothing ends', async () => {
      const failOver = await rememberRedis(server, code)
      const first = pairOf(await exchange(server, client, code, right))
      await failOver()
      expectRefusal(await exchange(server, client, code), 400, 'invalid_grant')
      expectRefusal(await exchange(server, other, code, right), 400, 'invalid_grant')
      await expectAlive(first)
    })

    test('30 concurrent replays after the failover: none redeems the code, and its tokens end', async () => {
      const failOver = await rememberRedis(server, code)
      const first = pairOf(await exchange(server, client, code, right))
      await failOver()
      const answers = await Promise.all(Array.from({ length: 30 }, () => exchange(server, client, code, right)))
      for (const answer of answers) expectRefusal(answer, 400, 'invalid_grant', ALREADY_USED)
      await expectDead(first)
      expect(await grantOf(server, code)).toMatchObject({ accessTokens: 1, refreshTokens: 1 })
    })

    test('an unused code that Redis lost is unknown, not a replay, and gets no tokens', async () => {
      await server.redis.flushdb()
      const answer = await exchange(server, client, code, right)
      expectRefusal(answer, 400, 'invalid_grant')
      expect(answer.json().error_description).not.toBe(ALREADY_USED)
      expect(await grantOf(server, code)).toBeUndefined()
    })

    test('a replay does not write the code to Redis again', async () => {
      pairOf(await exchange(server, client, code, right))
      await forgetInRedis(server, code)
      await exchange(server, client, code, right)
      expect(await redisKeysOf(server, code)).toEqual([])
    })

    test('after the grant was deleted with its last token, the code is unknown', async () => {
      pairOf(await exchange(server, client, code, right))
      await forgetInRedis(server, code)
      await server.database.query({ name: 'test_delete_grants', text: 'delete from grants', values: [] })
      const answer = await exchange(server, client, code, right)
      expectRefusal(answer, 400, 'invalid_grant')
      expect((await auditOf(server, answer)).map(({ reason }) => reason)).toEqual(['unknown_code'])
    })
  })
})

describe('concurrent with the first exchange', () => {
  let paused: TestServer
  let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
  let userId: string
  let username: string

  beforeAll(async () => {
    ;({ paused, pauses } = await startPausingInstance(server))
  })
  let users = 0
  beforeEach(async () => {
    username = `alice-${++users}`
    userId = await server.createUser(username, PASSWORD)
    client = await server.createClient()
    code = await obtainCode(server, client, { username, change: PKCE })
  })
  afterEach(() => {
    pauses.next = undefined
  })
  afterAll(() => paused.close())

  async function expectDead({ access_token, refresh_token }: Tokens): Promise<void> {
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
    expect((await refresh(server, client, refresh_token)).statusCode).not.toBe(200)
  }

  describe('a replay before the tokens of the first exchange are stored (contract "Authorization code")', () => {
    test('one of the two gets 200, with tokens that have ended', async () => {
      let replay: ReturnType<typeof exchange> | undefined
      pauses.next = {
        before: 'store_exchange',
        run: async () => {
          replay = exchange(server, client, code, right)
          await replay
        }
      }
      const first = await exchange(paused, client, code, right)
      // The second exchange took the code over, and stored its tokens before the first.
      const winner = pairOf((await replay) as never)
      expectRefusal(first, 400, 'invalid_grant', ALREADY_USED)
      expect((await auditOf(paused, first)).map(({ event }) => event)).toEqual(['code_reused', 'request_refused'])
      await expectDead(winner)
      expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: true, accessTokens: 1, refreshTokens: 1 })
    })

    test.each<{ name: string; wrong: Record<string, string> }>([
      { name: 'a wrong verifier', wrong: { code_verifier: 'w'.repeat(43) } },
      { name: 'a wrong redirect URI', wrong: { redirect_uri: 'https://app.example/other' } },
      { name: 'another resource', wrong: { resource: 'https://x.example' } }
    ])('a replay with $name ends nothing', async ({ wrong }) => {
      pauses.next = { before: 'store_exchange', run: () => exchange(server, client, code, { ...right, ...wrong }) }
      const winner = pairOf(await exchange(paused, client, code, right))
      expect(await isActive(server, resourceServer, winner.access_token)).toBe(true)
      pairOf(await refresh(server, client, winner.refresh_token))
    })

    test.each([
      { name: 'the replay takes the code over', change: async () => {} },
      { name: 'a failover restores the code', change: (restore: () => Promise<unknown>) => restore() }
    ])('both wait for Postgres, and $name: one pair of tokens, which has ended', async ({ change }) => {
      const failOver = await rememberRedis(server, code)
      const lock = await lockGrantOfCode(server, code)
      const winning = exchange(server, client, code, right)
      await lock.blocked(1)
      await change(failOver)
      const second = exchange(server, client, code, right)
      await lock.blocked(2)
      await lock.release()
      // Either of the two may insert its row first.
      const answers = await Promise.all([winning, second])
      const [pair, refused] = answers.toSorted((one, other) => one.statusCode - other.statusCode)
      expectRefusal(refused as never, 400, 'invalid_grant', ALREADY_USED)
      await expectDead(pairOf(pair as never))
      expect(await grantOf(server, code)).toMatchObject({ accessTokens: 1, refreshTokens: 1 })
    })

    test('the tombstone is lost: the second exchange is refused, and nothing ends because nothing was redeemed', async () => {
      pauses.next = {
        before: 'store_exchange',
        run: async () => {
          await forgetInRedis(server, code)
          expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant')
        }
      }
      const winner = pairOf(await exchange(paused, client, code, right))
      expect(await isActive(server, resourceServer, winner.access_token)).toBe(true)
    })
  })

  describe('a user or client ends between Allow and the redemption', () => {
    const endings = [
      { name: 'the user is disabled', run: () => disable(server, 'user', userId) },
      { name: 'the user is deleted', run: () => deleteRow(server, 'user', userId) },
      { name: 'the client is disabled', run: () => disable(server, 'client', client.clientId) },
      { name: 'the client is deleted', run: () => deleteRow(server, 'client', client.clientId) }
    ]

    test.each(endings)('$name during Allow: access_denied, and no code', async ({ run }) => {
      const browser = new Browser(paused.publicServer, ISSUER)
      const login = await browser.open(authorizeUrl(client.clientId, PKCE))
      const consent = await browser.submit(login, { username, password: PASSWORD })
      const before = await server.redis.keys('*code*')
      pauses.next = { before: 'read_allowance', run }
      const redirect = await browser.submitOnly(consent, { decision: 'allow' })
      expect(pauses.next).toBeUndefined()
      expect(responseParameters(redirect)).toMatchObject({ error: 'access_denied' })
      expect(responseParameters(redirect)).not.toHaveProperty('code')
      expect((await server.redis.keys('*code*')).filter((key) => !before.includes(key))).toEqual([])
    })

    /** The code has become worthless: no tokens, no grant, and no replay. */
    async function expectWorthless(answer: Awaited<ReturnType<typeof exchange>>): Promise<void> {
      expectRefusal(answer, 400, 'invalid_grant')
      expect(answer.json().error_description).not.toBe(ALREADY_USED)
      expect(await auditOf(paused, answer)).toEqual([{ event: 'request_refused', reason: 'access_ended' }])
      expect(await grantOf(server, code)).toBeUndefined()
    }

    test.each(endings)('$name during the exchange: no token is issued', async ({ run }) => {
      pauses.next = { before: 'store_exchange', run }
      await expectWorthless(await exchange(paused, client, code, right))
      expect(pauses.next).toBeUndefined()
    })

    test.each(endings.slice(0, 2))('$name before the exchange: no token is issued', async ({ run }) => {
      await run()
      await expectWorthless(await exchange(paused, client, code, right))
    })

    test.each(endings.slice(2))('$name before the exchange: invalid_client', async ({ run }) => {
      await run()
      expectRefusal(await exchange(server, client, code, right), 401, 'invalid_client')
    })
  })
})
