import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { assert, double, integer, property } from 'fast-check'
import { mostRefreshTokens, refreshPace, secondsToWait } from '../../../src/protocol/token/refresh-pace.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
/** With LIMITS_FACTOR=0.1: 3 at once, then one in 60 s. */
let strict: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  strict = await startInstance(server, { config: { limitsFactor: 0.1 } })
})
afterAll(async () => {
  await strict.close()
  await server.close()
})

const run = (text: string) => server.database.query<Record<string, unknown>>({ name: '', text, values: [] })

/** Refreshes so many times, one after the other. */
async function refreshTimes(tokens: Tokens, times: number, instance = server): Promise<Tokens> {
  let current = tokens
  for (let time = 0; time < times; time++) current = pairOf(await refresh(instance, client, current.refresh_token))
  return current
}

/** Moves all grants as if so many seconds had gone by. */
const pass = (seconds: number) =>
  run(`update grants set refresh_allowed_from = refresh_allowed_from - make_interval(secs => ${seconds})`)

describe('how often a grant may be refreshed (contract "Limits")', () => {
  test('30 at once, then 429 with Retry-After until an interval has passed; the token is as good as before', async () => {
    const last = await refreshTimes(await obtainTokens(server, client), 30)
    const rows = await run('select count(*)::int as count from refresh_tokens')
    const refused = await refresh(server, client, last.refresh_token)
    expect([refused.statusCode, refused.json().error]).toEqual([429, 'temporarily_unavailable'])
    const seconds = Number(refused.headers['retry-after'])
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    // Further requests, in parallel too, make no row and end nothing.
    const more = await Promise.all(Array.from({ length: 10 }, () => refresh(server, client, last.refresh_token)))
    expect(new Set(more.map(({ statusCode }) => statusCode))).toEqual(new Set([429]))
    expect(await run('select count(*)::int as count from refresh_tokens')).toEqual(rows)
    await pass(60)
    const next = pairOf(await refresh(server, client, last.refresh_token))
    expect((await refresh(server, client, next.refresh_token)).statusCode).toBe(429)
  })

  test('LIMITS_FACTOR below 1 makes the burst smaller and leaves the interval', async () => {
    const last = await refreshTimes(await obtainTokens(server, client), 3, strict)
    const refused = await refresh(strict, client, last.refresh_token)
    expect(refused.statusCode).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  })

  test('a grant at its limit still repeats a lost answer, and still ends when a token is reused', async () => {
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

  test('a day of silence brings back the burst and no more; another grant is another matter', async () => {
    const other = await obtainTokens(server, client)
    const first = await refreshTimes(await obtainTokens(server, client), 3, strict)
    await pass(3600 * 24)
    const last = await refreshTimes(first, 3, strict)
    expect((await refresh(strict, client, last.refresh_token)).statusCode).toBe(429)
    await refreshTimes(other, 1, strict)
  })

  test('the wait is that of Postgres: a clock that was set back there locks nothing out', async () => {
    const last = await refreshTimes(await obtainTokens(server, client), 1)
    await pass(-3600 * 24)
    await refreshTimes(last, 1)
    const [row] = await run(`select refresh_allowed_from - now() < make_interval(secs => 61) as soon
      from grants order by last_used_at desc limit 1`)
    expect(row).toEqual({ soon: true })
  })
})

test.each([
  { ttl: 3600, interval: 60, rows: 20_191 },
  { ttl: 86_400, interval: 60, rows: 20_191 },
  { ttl: 600, interval: 10, rows: 120_991 },
  { ttl: 30, interval: 5, rows: 241_951 }
])('access tokens of $ttl s: a refresh each $interval s, and $rows rows a grant at most', ({ ttl, interval, rows }) => {
  const pace = refreshPace(ttl, 1)
  expect(pace).toEqual({ burst: 30, intervalSeconds: interval })
  expect(mostRefreshTokens(pace, 14 * 86_400)).toBe(rows)
})

test('whatever the lifetime, six refreshes fit into it, and no wait is longer than an interval', () => {
  assert(
    property(integer({ min: 1, max: 30 * 86_400 }), double({ min: 0, max: 1e9, noNaN: true }), (ttl, wait) => {
      const pace = refreshPace(ttl, 1)
      expect(pace.intervalSeconds).toBeLessThanOrEqual(ttl / 6)
      expect(secondsToWait(wait, pace)).toBeLessThanOrEqual(Math.ceil(pace.intervalSeconds))
    })
  )
})
