import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { connectRedis, type Redis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { bodyCredentials, introspect, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

describe('rate of refreshes of one grant (contract "Limits")', () => {
  /** A server with LIMITS_FACTOR=0.1: a burst of 3, then one in 60 s. */
  let strict: TestServer

  beforeAll(async () => {
    strict = await startInstance(server, { config: { limitsFactor: 0.1 } })
  })
  afterAll(async () => {
    await strict.close()
  })

  const run = (text: string) => server.database.query<Record<string, unknown>>({ name: '', text, values: [] })

  /** Refreshes several times in sequence. */
  async function refreshTimes(tokens: Tokens, times: number, instance = server): Promise<Tokens> {
    let current = tokens
    for (let time = 0; time < times; time++) current = pairOf(await refresh(instance, client, current.refresh_token))
    return current
  }

  /** Changes all grants as if this many seconds had passed. */
  const pass = (seconds: number) =>
    run(`update grants set refresh_allowed_from = refresh_allowed_from - make_interval(secs => ${seconds})`)

  test('allows a burst of 30, then responds 429 with Retry-After for one interval; the token stays valid', async () => {
    const last = await refreshTimes(await obtainTokens(server, client), 30)
    const rows = await run('select count(*)::int as count from refresh_tokens')
    const refused = await refresh(server, client, last.refresh_token)
    expect([refused.statusCode, refused.json().error]).toEqual([429, 'temporarily_unavailable'])
    const seconds = Number(refused.headers['retry-after'])
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    // Further requests, also in parallel, add no row and end nothing.
    const more = await Promise.all(Array.from({ length: 10 }, () => refresh(server, client, last.refresh_token)))
    expect(new Set(more.map(({ statusCode }) => statusCode))).toEqual(new Set([429]))
    expect(await run('select count(*)::int as count from refresh_tokens')).toEqual(rows)
    await pass(60)
    const next = pairOf(await refresh(server, client, last.refresh_token))
    expect((await refresh(server, client, next.refresh_token)).statusCode).toBe(429)
  })

  test('LIMITS_FACTOR below 1 reduces the burst and not the interval', async () => {
    const last = await refreshTimes(await obtainTokens(server, client), 3, strict)
    const refused = await refresh(strict, client, last.refresh_token)
    expect(refused.statusCode).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  })

  test('a grant at its limit still repeats a lost response, and still ends when a token is reused', async () => {
    const before = await refreshTimes(await obtainTokens(server, client), 2, strict)
    const last = await refreshTimes(before, 1, strict)
    const repeated = pairOf(await refresh(strict, client, before.refresh_token))
    expect(repeated.refresh_token).toBe(last.refresh_token)
    expect((await refresh(strict, client, last.refresh_token)).statusCode).toBe(429)
    await pass(600)
    const next = await refreshTimes(last, 1, strict)
    expect((await refresh(strict, client, before.refresh_token)).json().error).toBe('invalid_grant')
    expect((await refresh(strict, client, next.refresh_token)).json().error).toBe('invalid_grant')
  })

  test('after a day without refreshes the burst is available once; other grants are not affected', async () => {
    const other = await obtainTokens(server, client)
    const first = await refreshTimes(await obtainTokens(server, client), 3, strict)
    await pass(3600 * 24)
    const last = await refreshTimes(first, 3, strict)
    expect((await refresh(strict, client, last.refresh_token)).statusCode).toBe(429)
    await refreshTimes(other, 1, strict)
  })

  test('after the clock of Postgres was set back, a grant can still be refreshed', async () => {
    const last = await refreshTimes(await obtainTokens(server, client), 1)
    await pass(-3600 * 24)
    await refreshTimes(last, 1)
    const [row] = await run(`select refresh_allowed_from - now() < make_interval(secs => 61) as soon
      from grants order by last_used_at desc limit 1`)
    expect(row).toEqual({ soon: true })
  })
})

describe('Redis is unavailable (contract 1, 3: valid credentials need no Redis command)', () => {
  /** An instance that never reaches Redis. */
  let alone: TestServer
  let nowhere: Redis
  let resourceServer: Credentials
  let tokens: Tokens

  beforeAll(async () => {
    nowhere = connectRedis('redis://127.0.0.1:1')
    alone = await startInstance(server, { redis: nowhere })
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    tokens = await obtainTokens(server, client)
  })
  afterAll(async () => {
    await alone.close()
    nowhere.disconnect()
  })

  const revoke = (form: Record<string, string>) =>
    post(alone, '/oauth/revoke', { token: tokens.refresh_token, ...form })

  test('a refresh succeeds, and so does its retry', async () => {
    const second = pairOf(await refresh(alone, client, tokens.refresh_token))
    expect(pairOf(await refresh(alone, client, tokens.refresh_token)).refresh_token).toBe(second.refresh_token)
  })

  test('introspection and revocation succeed, and the token has ended', async () => {
    expect((await introspect(alone, resourceServer, tokens.access_token)).json()).toMatchObject({ active: true })
    expect((await revoke(bodyCredentials(client))).statusCode).toBe(200)
    expect((await introspect(alone, resourceServer, tokens.access_token)).body).toBe('{"active":false}')
  })

  test.each<{ name: string; request(): ReturnType<typeof post> }>([
    {
      name: 'a refresh with a wrong secret',
      request: () => refresh(alone, client, tokens.refresh_token, { client_secret: 'wrong' })
    },
    {
      name: 'a revocation with a wrong secret',
      request: () => revoke({ ...bodyCredentials(client), client_secret: 'x' })
    }
  ])('$name cannot be counted: 503 with Retry-After, not 4xx, and the tokens stay active', async ({ request }) => {
    const answer = await request()
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect((await refresh(alone, client, tokens.refresh_token)).statusCode).toBe(200)
  })
})
