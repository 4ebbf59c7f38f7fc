import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { Browser } from '../../support/browser.js'
import { auditOf, forgetInRedis, grantOf, PKCE, rememberRedis, VERIFIER } from '../../support/codes.js'
import { authorizeUrl, exchange, obtainCode, PASSWORD, refresh, responseParameters } from '../../support/flow.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { expectRefusal } from '../../support/refusals.js'
import { lockGrantOfCode } from '../../support/row-lock.js'
import { deleteRow, disable, isActive, pairOf, type Tokens } from '../../support/tokens.js'

const ALREADY_USED = 'authorization code was already used'

let server: TestServer
let paused: TestServer
let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
let userId: string
let username: string
let client: Credentials
let resourceServer: Credentials
let code: string
const right = { code_verifier: VERIFIER }

beforeAll(async () => {
  server = await startTestServer()
  ;({ paused, pauses } = await startPausingInstance(server))
  resourceServer = await server.createResourceServer()
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
afterAll(async () => {
  await paused.close()
  await server.close()
})

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
