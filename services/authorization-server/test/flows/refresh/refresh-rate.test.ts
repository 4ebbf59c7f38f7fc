import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
/** With LIMITS_FACTOR=0.1: a burst of 3, then one in 60 s. */
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

/** Refreshes several times in sequence. */
async function refreshTimes(tokens: Tokens, times: number, instance = server): Promise<Tokens> {
  let current = tokens
  for (let time = 0; time < times; time++) current = pairOf(await refresh(instance, client, current.refresh_token))
  return current
}

/** Changes all grants as if this many seconds had passed. */
const pass = (seconds: number) =>
  run(`update grants set refresh_allowed_from = refresh_allowed_from - make_interval(secs => ${seconds})`)

describe('rate of refreshes of one grant (contract "Limits")', () => {
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
