import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { bodyCredentials, exchange, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { lockGrantOf } from '../../support/row-lock.js'
import { deleteRow, disable, isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
let browser: Browser
let client: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  browser = server.newBrowser()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('parallel refreshes', () => {
  const WIDE = 'files.read files.read:images'

  type Answer = Awaited<ReturnType<typeof refresh>>

  let instances: readonly [TestServer, TestServer]
  let windowless: readonly [TestServer, TestServer]
  let first: Tokens

  beforeAll(async () => {
    instances = [server, await startInstance(server)]
    const config = { refreshRetryWindow: 0 }
    windowless = [await startInstance(server, { config }), await startInstance(server, { config })]
  })
  beforeEach(async () => {
    first = await obtainTokens(server, client, { scope: WIDE }, browser)
  })
  afterAll(async () => {
    for (const instance of [...windowless, instances[1]]) await instance.close()
  })

  function inParallel(
    pair: readonly [TestServer, TestServer],
    count: number,
    request: (instance: TestServer, index: number) => Promise<Answer>
  ): Promise<Answer[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => request(index % 2 ? pair[1] : pair[0], index)))
  }

  const revoke = (instance: TestServer, token: string) =>
    post(instance, '/oauth/revoke', { token, ...bodyCredentials(client) })

  const kindOf = (answer: Answer) => (answer.statusCode === 200 ? '200' : `${answer.statusCode} ${answer.json().error}`)

  /** How many tokens the grant of `first` has. */
  async function countTokens(): Promise<{ access: number; refresh: number }> {
    const rows = await server.database.query<{ access: number; refresh: number }>({
      name: 'test_count_tokens',
      text: `select (select count(*)::int from access_tokens a where a.grant_id = t.grant_id) as access,
        (select count(*)::int from refresh_tokens r where r.grant_id = t.grant_id) as refresh
      from refresh_tokens t where t.token_hash = $1`,
      values: [hashToken(first.refresh_token)]
    })
    return rows[0] ?? { access: 0, refresh: 0 }
  }

  /** Checks that all issued tokens have ended. */
  async function expectAllDead(answers: readonly Answer[]): Promise<void> {
    const pairs = [first, ...answers.filter(({ statusCode }) => statusCode === 200).map(pairOf)]
    for (const { access_token, refresh_token } of pairs) {
      expect(await isActive(server, resourceServer, access_token)).toBe(false)
      expect(kindOf(await refresh(server, client, refresh_token))).toBe('400 invalid_grant')
    }
  }

  describe('concurrent refreshes on two instances', () => {
    test('50 within the retry window: 50 times 200 and one pair of active tokens', async () => {
      const answers = await inParallel(instances, 50, (instance) => refresh(instance, client, first.refresh_token))
      expect(answers.map(kindOf)).toEqual(Array(50).fill('200'))
      const pairs = new Set(answers.map((answer) => `${answer.json().access_token} ${answer.json().refresh_token}`))
      expect(pairs.size).toBe(1)
      expect(await countTokens()).toEqual({ access: 2, refresh: 2 })
      const second = pairOf(answers[0] as Answer)
      expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
      expect(kindOf(await refresh(server, client, second.refresh_token))).toBe('200')
    })

    test('50 with REFRESH_RETRY_WINDOW=0: one 200, 49 invalid_grant, and the grant ends', async () => {
      const answers = await inParallel(windowless, 50, (instance) => refresh(instance, client, first.refresh_token))
      const kinds = answers.map(kindOf)
      expect(kinds.filter((kind) => kind === '200')).toHaveLength(1)
      expect(kinds.filter((kind) => kind === '400 invalid_grant')).toHaveLength(49)
      expect(await countTokens()).toEqual({ access: 2, refresh: 2 })
      await expectAllDead(answers)
    })

    test('two scopes: one succeeds, the other is invalid_scope, and nothing ends', async () => {
      const scopes = ['files.read', 'files.read:images']
      const answers = await inParallel(instances, 40, (instance, index) =>
        refresh(instance, client, first.refresh_token, { scope: scopes[Math.floor(index / 2) % 2] ?? '' })
      )
      const won = answers.filter(({ statusCode }) => statusCode === 200)
      expect(won).toHaveLength(20)
      expect(new Set(won.map(({ body }) => pairKey(body))).size).toBe(1)
      expect(new Set(answers.map(kindOf))).toEqual(new Set(['200', '400 invalid_scope']))
      expect(await countTokens()).toEqual({ access: 2, refresh: 2 })
      expect(await isActive(server, resourceServer, pairOf(won[0] as Answer).access_token)).toBe(true)
    })

    test('requests with wrong credentials among them change nothing', async () => {
      const stranger = await server.createClient()
      const answers = await inParallel(instances, 40, (instance, index) =>
        refresh(instance, index % 4 < 2 ? client : stranger, first.refresh_token)
      )
      const kinds = answers.map((answer, index) => `${index % 4 < 2 ? 'owner' : 'stranger'} ${kindOf(answer)}`)
      expect(new Set(kinds)).toEqual(new Set(['owner 200', 'stranger 400 invalid_grant']))
      expect(await countTokens()).toEqual({ access: 2, refresh: 2 })
    })

    test('a chain of tokens, each refreshed ten times concurrently: one pair of tokens for each step', async () => {
      let current = first
      for (let step = 0; step < 5; step++) {
        const token = current.refresh_token
        const answers = await inParallel(instances, 10, (instance) => refresh(instance, client, token))
        expect(new Set(answers.map(({ body }) => pairKey(body))).size).toBe(1)
        current = pairOf(answers[0] as Answer)
      }
      expect(await countTokens()).toEqual({ access: 6, refresh: 6 })
      expect(await isActive(server, resourceServer, current.access_token)).toBe(true)
    })
  })

  describe('endings concurrent with refreshes', () => {
    test.each(Array.from({ length: 8 }, (_, round) => ({ round })))(
      'a revocation among 10 refreshes leaves nothing alive, round $round (RFC 7009 2.1)',
      async ({ round }) => {
        const answers = await inParallel(instances, 10, (instance, index) =>
          index === round ? revoke(instance, first.refresh_token) : refresh(instance, client, first.refresh_token)
        )
        const refreshes = answers.filter((_, index) => index !== round)
        expect(kindOf(answers[round] as Answer)).toBe('200')
        for (const answer of refreshes) expect(['200', '400 invalid_grant']).toContain(kindOf(answer))
        await expectAllDead(refreshes)
      }
    )

    test.each(Array.from({ length: 5 }, (_, round) => ({ round })))(
      'a replay among refreshes of the successor ends them all, round $round (RFC 9700 4.14.2)',
      async ({ round }) => {
        const second = pairOf(await refresh(windowless[0], client, first.refresh_token))
        const answers = await inParallel(instances, 10, (instance, index) =>
          refresh(instance, client, index === 2 * round ? first.refresh_token : second.refresh_token)
        )
        expect(kindOf(answers[2 * round] as Answer)).toBe('400 invalid_grant')
        await expectAllDead(answers)
      }
    )

    test('20 concurrent revocations: 20 times 200', async () => {
      const answers = await inParallel(instances, 20, (instance) => revoke(instance, first.refresh_token))
      expect(answers.map(kindOf)).toEqual(Array(20).fill('200'))
      await expectAllDead([])
    })
  })

  function pairKey(body: string): string {
    const { access_token, refresh_token } = JSON.parse(body)
    return `${access_token} ${refresh_token}`
  }
})

describe('order', () => {
  let paused: TestServer
  let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
  let userId: string
  let client: Credentials
  let first: Tokens

  beforeAll(async () => {
    ;({ paused, pauses } = await startPausingInstance(server))
  })
  let users = 0
  beforeEach(async () => {
    const username = `alice-${++users}`
    userId = await server.createUser(username, PASSWORD)
    client = await server.createClient()
    first = pairOf(await exchange(server, client, await obtainCode(server, client, { username })))
  })
  afterEach(() => {
    pauses.next = undefined
  })
  afterAll(async () => {
    await paused.close()
  })

  const revoke = (token: string) => post(server, '/oauth/revoke', { token, ...bodyCredentials(client) })

  async function expectDead({ access_token, refresh_token }: Tokens): Promise<void> {
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
    expect((await refresh(server, client, refresh_token)).statusCode).not.toBe(200)
  }

  describe('a refresh and a revocation that wait for each other', () => {
    test('the refresh first: its tokens have ended when the revocation has responded', async () => {
      const lock = await lockGrantOf(server, first.refresh_token)
      const refreshing = refresh(server, client, first.refresh_token)
      await lock.blocked(1)
      const revoking = revoke(first.refresh_token)
      await lock.blocked(2)
      await lock.release()
      expect((await revoking).statusCode).toBe(200)
      await expectDead(pairOf(await refreshing))
      await expectDead(first)
    })

    test('the revocation first: the refresh issues no active token, whatever its response', async () => {
      const lock = await lockGrantOf(server, first.refresh_token)
      const revoking = revoke(first.refresh_token)
      await lock.blocked(1)
      const refreshing = refresh(server, client, first.refresh_token)
      await lock.blocked(2)
      await lock.release()
      expect((await revoking).statusCode).toBe(200)
      const answer = await refreshing
      if (answer.statusCode === 200) await expectDead(pairOf(answer))
      else expect(answer.json().error).toBe('invalid_grant')
      await expectDead(first)
    })
  })

  describe('a change between the lookup of a refresh token and its rotation', () => {
    test.each<{ name: string; run(): Promise<unknown> }>([
      { name: 'its grant is revoked', run: () => revoke(first.refresh_token) },
      { name: 'its user is disabled', run: () => disable(server, 'user', userId) },
      { name: 'its user is deleted', run: () => deleteRow(server, 'user', userId) },
      { name: 'its client is disabled', run: () => disable(server, 'client', client.clientId) },
      { name: 'its client is deleted', run: () => deleteRow(server, 'client', client.clientId) }
    ])('$name: no active token is issued', async ({ run }) => {
      pauses.next = { before: 'rotate_refresh_token', run }
      const answer = await refresh(paused, client, first.refresh_token)
      expect(pauses.next).toBeUndefined()
      if (answer.statusCode === 200) await expectDead(pairOf(answer))
      else expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
      await expectDead(first)
    })

    test('a revocation: invalid_grant', async () => {
      pauses.next = { before: 'rotate_refresh_token', run: () => revoke(first.refresh_token) }
      const answer = await refresh(paused, client, first.refresh_token)
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
    })

    test('a concurrent refresh: the same tokens', async () => {
      let winner: Tokens | undefined
      pauses.next = {
        before: 'rotate_refresh_token',
        run: async () => {
          winner = pairOf(await refresh(server, client, first.refresh_token))
        }
      }
      const second = pairOf(await refresh(paused, client, first.refresh_token))
      expect([second.access_token, second.refresh_token]).toEqual([winner?.access_token, winner?.refresh_token])
    })

    test('a concurrent refresh of the token and of its successor: reuse, and all tokens end', async () => {
      let third: Tokens | undefined
      pauses.next = {
        before: 'rotate_refresh_token',
        run: async () => {
          const second = pairOf(await refresh(server, client, first.refresh_token))
          third = pairOf(await refresh(server, client, second.refresh_token))
        }
      }
      const answer = await refresh(paused, client, first.refresh_token)
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_grant'])
      if (third !== undefined) await expectDead(third)
      expect(third).toBeDefined()
    })
  })
})

describe('outages', () => {
  /** Reaches Postgres over a network that fails on demand. */
  let shaky: TestServer
  let shakyWindowless: TestServer
  let proxy: PostgresProxy
  let first: Tokens

  beforeAll(async () => {
    proxy = await startPostgresProxy(server.config.databaseUrl)
    shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
    shakyWindowless = await startInstance(server, { config: { databaseUrl: proxy.url, refreshRetryWindow: 0 } })
  })
  beforeEach(async () => {
    first = await obtainTokens(server, client, {}, browser)
  })
  afterEach(() => proxy.repair())
  afterAll(async () => {
    for (const instance of [shaky, shakyWindowless]) await instance.close()
    await proxy.close()
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
})
