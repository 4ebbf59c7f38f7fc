import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { runCommand } from '../../support/command-line.js'
import { bodyCredentials, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { expectRefusal } from '../../support/refusals.js'
import { isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
let browser: Browser
let client: Credentials
let api: Credentials
let first: Tokens

beforeAll(async () => {
  server = await startTestServer()
  browser = server.newBrowser()
  await server.createUser('alice', PASSWORD)
  api = await server.createResourceServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  client = await server.createClient({ keepsRefreshTokens: true })
  first = await obtainTokens(server, client, {}, browser)
})

type Answer = Awaited<ReturnType<typeof refresh>>

/** Sends these requests at the same time. */
const inParallel = (count: number, request: (index: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => request(index)))

const refreshFirst = (on: TestServer = server) => refresh(on, client, first.refresh_token)

async function change(...options: string[]): Promise<void> {
  const { code } = await runCommand(server.database, ['clients', 'update', client.clientId, ...options])
  expect(code).toBe(0)
}

/** The rows of the refresh tokens of the grant. */
async function rows(): Promise<{ rotated: boolean; expires_at: Date }[]> {
  return server.database.query({
    name: 'test_refresh_rows',
    text: `select rotated_at is not null as rotated, expires_at from refresh_tokens
      where grant_id = (select grant_id from refresh_tokens where token_hash = $1)`,
    values: [hashToken(first.refresh_token)]
  })
}

describe('the refresh token of a client without rotation', () => {
  test('works again and again; responses have no refresh token, and each access token works', async () => {
    const second = pairOf(await refreshFirst())
    const third = pairOf(await refreshFirst())
    expect(second).not.toHaveProperty('refresh_token')
    expect(second.scope).toBe(first.scope)
    for (const { access_token: token } of [first, second, third]) expect(await isActive(server, api, token)).toBe(true)
    expect(await rows()).toMatchObject([{ rotated: false }])
  })

  test('stays alive by each use, within the life of its grant', async () => {
    await server.database.query({
      name: 'test_almost_idle',
      text: `update refresh_tokens set expires_at = now() + interval '1 minute' where token_hash = $1`,
      values: [hashToken(first.refresh_token)]
    })
    pairOf(await refreshFirst())
    const [row] = await rows()
    expect(row?.expires_at.getTime()).toBeGreaterThan(Date.now() + 13 * 86_400_000)
  })

  test('is refused when it was idle for too long', async () => {
    await server.database.query({
      name: 'test_idle',
      text: `update refresh_tokens set expires_at = now() - interval '1 minute' where token_hash = $1`,
      values: [hashToken(first.refresh_token)]
    })
    expectRefusal(await refreshFirst(), 400, 'invalid_grant')
  })

  test('serves ten requests at the same time on two processes, each with an access token of its own', async () => {
    const second = await startInstance(server)
    try {
      const answers = await inParallel(10, (index) => refreshFirst(index % 2 === 0 ? server : second))
      const tokens = answers.map((answer) => pairOf(answer).access_token)
      expect(new Set(tokens).size).toBe(10)
      for (const token of tokens) expect(await isActive(server, api, token)).toBe(true)
    } finally {
      await second.close()
    }
  })

  test('serves at most its burst at the same time, and refuses the rest with 429', async () => {
    const answers = await inParallel(40, () => refreshFirst())
    const statuses = answers.map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(30)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    expect((await refreshFirst()).statusCode).toBe(429)
    expect(await isActive(server, api, first.access_token)).toBe(true)
  })

  test('narrows the scope of an access token, not its own', async () => {
    const narrow = await refresh(server, client, first.refresh_token, { scope: 'files.read' })
    expect(pairOf(narrow).scope).toBe('files.read')
    expectRefusal(await refresh(server, client, first.refresh_token, { scope: 'files.write' }), 400, 'invalid_scope')
    expect(pairOf(await refreshFirst()).scope).toBe(first.scope)
  })

  test('ends all access tokens of its grant when it is revoked (RFC 7009 §2.1)', async () => {
    const second = pairOf(await refreshFirst())
    await post(server, '/oauth/revoke', { token: first.refresh_token, ...bodyCredentials(client) })
    for (const { access_token: token } of [first, second]) expect(await isActive(server, api, token)).toBe(false)
    expectRefusal(await refreshFirst(), 400, 'invalid_grant')
  })

  test('is refused to another client, and its grant goes on', async () => {
    const stranger = await server.createClient({ keepsRefreshTokens: true })
    expectRefusal(await refresh(server, stranger, first.refresh_token), 400, 'invalid_grant')
    pairOf(await refreshFirst())
  })
})

describe('a change of --refresh-rotation', () => {
  test('to on rotates the token at its next use', async () => {
    await change('--refresh-rotation')
    await expectRotation(refreshFirst)
  })

  test('to off keeps the newest token; one that was rotated before still ends the grant', async () => {
    await change('--refresh-rotation')
    const second = await expectRotation(refreshFirst)
    const next = () => refresh(server, client, second.refresh_token)
    await change('--no-refresh-rotation')
    expect(pairOf(await next())).not.toHaveProperty('refresh_token')
    await server.database.query({
      name: 'test_close_window',
      text: 'update refresh_tokens set retry_until = now()',
      values: []
    })
    expectRefusal(await refreshFirst(), 400, 'invalid_grant')
    expectRefusal(await next(), 400, 'invalid_grant')
  })

  test('to off is refused for a public client', async () => {
    const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
    const { code, said } = await runCommand(server.database, ['clients', 'update', clientId, '--no-refresh-rotation'])
    expect([code, said]).toEqual([2, expect.stringContaining('a public client must rotate refresh tokens')])
  })

  /** A process knows the change a moment after its commit. @returns the first response with a refresh token */
  async function expectRotation(send: () => Promise<Answer>): Promise<Tokens> {
    for (;;) {
      const tokens = pairOf(await send())
      if ('refresh_token' in tokens) return tokens
    }
  }
})
