import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { bodyCredentials, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const WIDE = 'files.read files.read:images'

type Answer = Awaited<ReturnType<typeof refresh>>

let instances: readonly [TestServer, TestServer]
let windowless: readonly [TestServer, TestServer]
let server: TestServer
let client: Credentials
let resourceServer: Credentials
let first: Tokens

beforeAll(async () => {
  server = await startTestServer()
  instances = [server, await startInstance(server)]
  const config = { refreshRetryWindow: 0 }
  windowless = [await startInstance(server, { config }), await startInstance(server, { config })]
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  first = await obtainTokens(server, client, { scope: WIDE })
})
afterAll(async () => {
  for (const instance of [...windowless, instances[1], server]) await instance.close()
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
