import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, INVALID_GRANT } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { bodyCredentials, introspect, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { atTime } from '../../support/postgres-clock.js'
import {
  createPublicClient,
  disable,
  enable,
  isActive,
  obtainTokens,
  pairOf,
  type Tokens
} from '../../support/tokens.js'

const clock = stopClock()
let server: TestServer
let browser: Browser
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  browser = server.newBrowser()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('retries', () => {
  const WIDE = 'files.read files.read:images'
  const WINDOW = 30
  let windowless: TestServer
  let other: Credentials
  let resourceServer: Credentials
  let first: Tokens
  let second: Tokens

  beforeAll(async () => {
    windowless = await startInstance(server, { config: { refreshRetryWindow: 0 } })
    other = await server.createClient()
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    first = await obtainTokens(server, client, { scope: WIDE }, browser)
  })
  afterAll(async () => {
    await windowless.close()
  })

  async function expectEnded(refused: Awaited<ReturnType<typeof refresh>>): Promise<void> {
    expect([refused.statusCode, refused.json().error, refused.json().error_description]).toEqual([
      400,
      'invalid_grant',
      INVALID_GRANT
    ])
    for (const { access_token } of [first, second]) {
      expect((await introspect(server, resourceServer, access_token)).json()).toEqual({ active: false })
    }
    expect((await refresh(server, client, second.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
  }

  async function expectAlive(): Promise<void> {
    expect(await isActive(server, resourceServer, first.access_token)).toBe(true)
    expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
    expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
  }

  describe('a second use in the retry window (contract 2, "Tokens")', () => {
    beforeEach(async () => {
      second = pairOf(await refresh(server, client, first.refresh_token))
    })

    test.each([
      { name: 'immediately', after: 0, expiresIn: 3600 },
      { name: 'a moment later, rounded down', after: 0.4, expiresIn: 3599 },
      { name: 'in the middle', after: 12, expiresIn: 3588 },
      { name: 'in the last second', after: WINDOW - 1, expiresIn: 3571 }
    ])('$name: the same tokens with the current expires_in', async ({ after, expiresIn }) => {
      clock.advance(after)
      const answer = await refresh(server, client, first.refresh_token)
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.json()).toEqual({ ...second, expires_in: expiresIn })
      await expectAlive()
    })

    test('can be repeated', async () => {
      for (let time = 0; time < 5; time++) {
        clock.advance(5)
        const { access_token, refresh_token } = pairOf(await refresh(server, client, first.refresh_token))
        expect([access_token, refresh_token]).toEqual([second.access_token, second.refresh_token])
      }
      await expectAlive()
    })

    test.each([
      { name: 'an empty scope, which counts as absent', change: { scope: '' } },
      { name: 'the resource it was issued for, named', change: { resource: AUDIENCE } }
    ])('$name does not make it another request', async ({ change }) => {
      expect(pairOf(await refresh(server, client, first.refresh_token, change))).toEqual(second)
    })

    test.each([
      { name: 'another scope', change: { scope: 'files.read' }, error: 'invalid_scope' },
      { name: 'a wider scope', change: { scope: `${WIDE} files.read:media` }, error: 'invalid_scope' },
      { name: 'a malformed scope', change: { scope: 'files.read"' }, error: 'invalid_scope' },
      { name: 'another resource', change: { resource: 'https://other.example' }, error: 'invalid_target' }
    ])('$name is $error and ends neither the tokens nor the window', async ({ change, error }) => {
      const refused = await refresh(server, client, first.refresh_token, change)
      expect([refused.statusCode, refused.json().error]).toEqual([400, error])
      expect(pairOf(await refresh(server, client, first.refresh_token))).toEqual(second)
      await expectAlive()
    })

    test('the use by another client is refused and changes nothing', async () => {
      for (const stranger of [other, await createPublicClient(server)]) {
        expect((await refresh(server, stranger, first.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
      }
      expect(pairOf(await refresh(server, client, first.refresh_token))).toEqual(second)
      await expectAlive()
    })

    test('a wrong secret is refused and changes nothing', async () => {
      const refused = await refresh(server, client, first.refresh_token, { client_secret: 'wrong' })
      expect([refused.statusCode, refused.json().error]).toEqual([401, 'invalid_client'])
      expect(pairOf(await refresh(server, client, first.refresh_token))).toEqual(second)
      await expectAlive()
    })

    test('using the new access token does not end the window', async () => {
      expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
      expect(pairOf(await refresh(server, client, first.refresh_token))).toEqual(second)
    })

    test('revoking the new access token does not end the window: the same tokens, one of them revoked', async () => {
      await post(server, '/oauth/revoke', { token: second.access_token, ...bodyCredentials(client) })
      expect(pairOf(await refresh(server, client, first.refresh_token))).toEqual(second)
      expect(await isActive(server, resourceServer, second.access_token)).toBe(false)
      expect((await refresh(server, client, second.refresh_token)).statusCode).toBe(200)
    })

    test.each<{ name: string; ending(): Promise<unknown> }>([
      {
        name: 'the new refresh token was revoked',
        ending: () => post(server, '/oauth/revoke', { token: second.refresh_token, ...bodyCredentials(client) })
      },
      {
        name: 'the old refresh token was revoked',
        ending: () => post(server, '/oauth/revoke', { token: first.refresh_token, ...bodyCredentials(client) })
      },
      {
        name: 'the client was disabled in between',
        ending: async () => {
          await disable(server, 'client', client.clientId)
          await enable(server, 'client', client.clientId)
        }
      }
    ])('after $name it is refused, and all tokens have ended', async ({ ending }) => {
      await ending()
      await expectEnded(await refresh(server, client, first.refresh_token))
    })

    test('an instance without a retry window still returns a stored response', async () => {
      expect(pairOf(await refresh(windowless, client, first.refresh_token))).toEqual(second)
    })
  })

  describe('a second use with a scope', () => {
    beforeEach(async () => {
      second = pairOf(await refresh(server, client, first.refresh_token, { scope: 'files.read:images files.read' }))
    })

    test.each(['files.read:images files.read', WIDE, `${WIDE} files.read`])(
      '"%s" is the same scope: order and doubles do not matter',
      async (scope) => {
        expect(pairOf(await refresh(server, client, first.refresh_token, { scope }))).toEqual(second)
      }
    )

    test.each([{ scope: 'files.read' }, { scope: 'files.read:images' }])(
      '$scope is another: invalid_scope, and nothing ends',
      async (change) => {
        const refused = await refresh(server, client, first.refresh_token, change)
        expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_scope'])
        await expectAlive()
      }
    )

    test('a response with a narrower scope is repeated unchanged', async () => {
      const narrow = { scope: 'files.read' }
      const third = pairOf(await refresh(server, client, second.refresh_token, narrow))
      expect(pairOf(await refresh(server, client, second.refresh_token, narrow))).toEqual(third)
      expect(third.scope).toBe('files.read')
    })
  })

  describe('a second use that is not a retry ends the grant (RFC 9700 §4.14.2)', () => {
    test.each([
      { name: 'when the window closes', after: WINDOW, change: {} },
      { name: 'a day later', after: 86_400, change: {} },
      { name: 'after the window with another scope', after: WINDOW, change: { scope: 'files.read' } }
    ])('$name', async ({ after, change }) => {
      second = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(after)
      await expectEnded(await refresh(server, client, first.refresh_token, change))
    })

    test.each([
      { name: 'with the same scope', change: {} },
      { name: 'with another scope', change: { scope: 'files.read' } }
    ])('within the window, after the new refresh token was used, $name', async ({ change }) => {
      const middle = pairOf(await refresh(server, client, first.refresh_token))
      second = pairOf(await refresh(server, client, middle.refresh_token))
      await expectEnded(await refresh(server, client, first.refresh_token, change))
    })

    test('the token before the last can be repeated within its own window', async () => {
      const middle = pairOf(await refresh(server, client, first.refresh_token))
      second = pairOf(await refresh(server, client, middle.refresh_token))
      expect(pairOf(await refresh(server, client, middle.refresh_token))).toEqual(second)
      await expectEnded(await refresh(server, client, first.refresh_token))
    })

    test('with REFRESH_RETRY_WINDOW=0, immediately', async () => {
      second = pairOf(await refresh(windowless, client, first.refresh_token))
      await expectEnded(await refresh(windowless, client, first.refresh_token))
    })

    test.each<{ name: string; by(): Credentials; change: Record<string, string>; error: string }>([
      { name: 'by another client', by: () => other, change: {}, error: 'invalid_grant' },
      { name: 'with a wrong secret', by: () => client, change: { client_secret: 'x' }, error: 'invalid_client' },
      { name: 'for more scope', by: () => client, change: { scope: 'files.read:media' }, error: 'invalid_scope' },
      {
        name: 'for another resource',
        by: () => client,
        change: { resource: 'https://o.example' },
        error: 'invalid_target'
      }
    ])('$name does not end it: $error, and nothing changes', async ({ by, change, error }) => {
      second = pairOf(await refresh(server, client, first.refresh_token))
      clock.advance(WINDOW)
      expect((await refresh(server, by(), first.refresh_token, change)).json()).toMatchObject({ error })
      await expectAlive()
    })
  })
})

describe('the stored response of a refresh', () => {
  let first: Tokens
  let second: Tokens
  beforeEach(async () => {
    first = await obtainTokens(server, client, {}, browser)
    second = pairOf(await refresh(server, client, first.refresh_token))
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

describe('a rotation that is carried out late', () => {
  /** An instance whose statements of this name are carried out so many seconds after they were sent. */
  const delaying = (name: string, seconds: number) =>
    startInstance(server, {
      wrap: (database: Database) => ({
        ...database,
        query: (statement) =>
          (statement.name.startsWith(name)
            ? atTime(database, () => new Date(Date.now() + seconds * 1000))
            : database
          ).query(statement)
      })
    })

  test('a rotation that Postgres committed 20 s late can be repeated for the whole window from its commit', async () => {
    const first = await obtainTokens(server, client)
    const stalled = await delaying('rotate_refresh_token', 20)
    const pair = pairOf(await refresh(stalled, client, first.refresh_token))
    await stalled.close()
    // 30 s after it was sent the window would be over; it ends 30 s after the rotation.
    const later = await delaying('find_refresh_token', 40)
    expect(pairOf(await refresh(later, client, first.refresh_token)).refresh_token).toBe(pair.refresh_token)
    await later.close()
  })
})
