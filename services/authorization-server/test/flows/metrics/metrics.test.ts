import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createMetrics } from '@valetkey/service-kit'
import { canonicalName } from '@valetkey/sign-in-rules'
import { createServerMetrics } from '../../../src/platform/metrics/server-metrics.js'
import { watchPasswordQueue } from '../../../src/platform/metrics/watch.js'
import { createPasswordQueue } from '../../../src/platform/passwords/password-queue.js'
import { createLimiter, TooManyAttempts } from '../../../src/platform/rate-limits/limiter.js'
import {
  accountChangeLimit,
  accountLinkLimit,
  appFormLimit,
  clientAuthenticationLimit,
  newClientLimit,
  operatorAuthenticationLimit,
  providerAddressLimit,
  pushedRequestLimit,
  reportedTokenLimit,
  resourceServerAuthenticationLimit,
  signInLimits
} from '../../../src/platform/rate-limits/rules.js'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { clearCounters } from '../../support/counters.js'
import { startChannel, subscribe } from '../../support/event-stream.js'
import { basic, exchange, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'
import { atTime } from '../../support/postgres-clock.js'
import { growth, samplesOf } from '../../support/samples.js'
import { obtainTokens, pairOf } from '../../support/tokens.js'

let server: TestServer
let client: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('decisions', () => {
  const audited = (event: string) => `valetkey_audit_events_total{event=${event}}`
  const refusal = (event: string, reason: string) => `valetkey_refusals_total{event=${event},reason=${reason}}`
  const refused = (grantType: string, reason: string) =>
    `valetkey_token_requests_refused_total{grant_type=${grantType},reason=${reason}}`

  /** The registry of a test server has no LISTEN connection, so each lookup reads Postgres. */
  const withoutBypasses = (samples: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(samples).filter(([name]) => !name.startsWith('valetkey_registry_bypasses')))

  const during = async (run: () => Promise<unknown>) => withoutBypasses(await growth(server, run))

  test('a sign-in, a consent and a code', async () => {
    expect(await during(() => obtainCode(server, client))).toEqual({
      [audited('sign_in_succeeded')]: 1,
      [audited('consent_given')]: 1,
      [audited('code_issued')]: 1,
      valetkey_codes_issued_total: 1,
      'valetkey_sign_ins_total{outcome=succeeded}': 1
    })
  })

  test('an exchange and a refresh', async () => {
    const code = await obtainCode(server, client)
    let tokens = { refresh_token: '' }
    expect(
      await during(async () => {
        tokens = pairOf(await exchange(server, client, code))
      })
    ).toEqual({
      [audited('code_redeemed')]: 1,
      valetkey_codes_exchanged_total: 1,
      'valetkey_access_tokens_issued_total{grant_type=authorization_code}': 1
    })
    expect(await during(() => refresh(server, client, tokens.refresh_token))).toEqual({
      [audited('token_refreshed')]: 1,
      'valetkey_access_tokens_issued_total{grant_type=refresh_token}': 1
    })
  })

  describe('refused token requests, by grant type and exact cause', () => {
    test.each<{ name: string; send(): Promise<unknown>; expected: string }>([
      {
        name: 'a code that was never issued',
        send: () => exchange(server, client, 'vk_ac_none'),
        expected: refused('authorization_code', 'malformed_code')
      },
      {
        name: 'another redirect URI',
        send: async () =>
          exchange(server, client, await obtainCode(server, client), { redirect_uri: 'https://other.example' }),
        expected: refused('authorization_code', 'wrong_redirect_uri')
      },
      {
        name: 'a wrong secret',
        send: () => exchange(server, { ...client, clientSecret: 'wrong' }, 'vk_ac_none'),
        expected: refused('authorization_code', 'wrong_secret')
      },
      {
        name: 'a refresh token that was never issued',
        send: () => refresh(server, client, 'vk_rt_none'),
        expected: refused('refresh_token', 'refresh_token_malformed')
      },
      {
        name: 'an invented grant type',
        send: () => exchange(server, client, 'x', { grant_type: 'made-up' }),
        expected: refused('other', 'unsupported_grant_type')
      },
      {
        name: 'a body that is no form',
        send: () => post(server, '/token', {}, { 'content-type': 'application/json' }),
        expected: refused('other', 'other')
      }
    ])('$name', async ({ send, expected }) => {
      expect(await during(send)).toMatchObject({ [expected]: 1, [audited('request_refused')]: 1 })
    })

    test('a reused code counts as reuse and as the end of its grant', async () => {
      const code = await obtainCode(server, client)
      await exchange(server, client, code)
      expect(await during(() => exchange(server, client, code))).toEqual({
        [audited('code_reused')]: 1,
        [audited('request_refused')]: 1,
        [refusal('request_refused', 'code_used')]: 1,
        [refused('authorization_code', 'code_used')]: 1,
        'valetkey_revocations_total{of=grant,cause=reuse}': 1
      })
    })
  })

  test('revocations, of a token and of a grant', async () => {
    const tokens = await obtainTokens(server, client)
    const revoke = (token: string) => post(server, '/oauth/revoke', { token }, basic(client))
    expect(await during(() => revoke(tokens.access_token))).toEqual({
      [audited('token_revoked')]: 1,
      'valetkey_revocations_total{of=access_token,cause=asked}': 1
    })
    expect(await during(() => revoke(tokens.refresh_token))).toEqual({
      [audited('grant_ended')]: 1,
      'valetkey_revocations_total{of=grant,cause=asked}': 1
    })
  })

  test('introspections: active, inactive, and refused', async () => {
    const { access_token } = await obtainTokens(server, client)
    const outcome = (name: string) => `valetkey_introspections_total{outcome=${name}}`
    expect(await during(() => introspect(server, resourceServer, access_token))).toEqual({ [outcome('active')]: 1 })
    expect(await during(() => introspect(server, resourceServer, 'nonsense'))).toEqual({ [outcome('inactive')]: 1 })
    expect(await during(() => introspect(server, client, access_token))).toEqual({
      [audited('request_refused')]: 1,
      [refusal('request_refused', 'wrong_resource_server_credentials')]: 1,
      [outcome('refused')]: 1
    })
  })

  test('failed sign-ins, by cause', async () => {
    const browser = server.newBrowser()
    const page = await browser.open(`${server.config.issuer}/login`)
    const attempt = (username: string) => browser.submitOnly(page, { username, password: 'wrong' })
    expect(await during(() => attempt('alice'))).toMatchObject({ 'valetkey_sign_ins_total{outcome=wrong_password}': 1 })
    expect(await during(() => attempt('unknown'))).toMatchObject({ 'valetkey_sign_ins_total{outcome=unknown_user}': 1 })
  })

  test('refused account links and password changes, by cause', async () => {
    const { issuer } = server.config
    const unknown = () => server.newBrowser().get(`${issuer}/account-link`)
    expect(await during(unknown)).toEqual({
      [audited('account_link_refused')]: 1,
      [refusal('account_link_refused', 'unknown_link')]: 1
    })
    const clock = stopClock()
    try {
      const browser = await signedInBrowser(server)
      clock.advance(301)
      const page = await browser.open(`${issuer}/account/password`)
      const form = { current_password: 'wrong', new_password: 'gravel walks at dawn' }
      expect(await during(() => browser.submitOnly(page, form))).toEqual({
        [audited('password_change_refused')]: 1,
        [refusal('password_change_refused', 'wrong_password')]: 1
      })
    } finally {
      clock.restart()
    }
  })

  test('refusals by event and exact cause, and the number of those that the table has only as a count', async () => {
    const unknown = () =>
      server.publicServer.inject({ url: '/oauth/authorize?client_id=x', remoteAddress: '192.0.2.9' })
    const foreign = { method: 'POST', url: '/logout', headers: { origin: 'https://evil.example' } } as const
    const run = async () => {
      for (let count = 0; count < 20; count += 1) await unknown()
      await server.publicServer.inject({ ...foreign, remoteAddress: '192.0.2.10' })
    }
    expect(await during(run)).toEqual({
      [audited('authorization_refused')]: 20,
      [audited('form_refused')]: 1,
      'valetkey_client_refusals_dropped_total{cause=limit}': 15,
      [refusal('authorization_refused', 'unknown_client')]: 20,
      [refusal('form_refused', 'foreign_form')]: 1,
      valetkey_audit_events_counted_total: 15
    })
  })

  test('input of a caller creates no series', async () => {
    const { body } = await server.operatorServer.inject('/metrics')
    const secret = 'made-up-by-a-caller'
    await exchange(server, { clientId: secret, clientSecret: secret }, secret, { grant_type: secret, scope: secret })
    await introspect(server, { clientId: secret, clientSecret: secret }, secret)
    await server.publicServer.inject(`/${secret}?${secret}=${secret}`)
    const after = (await server.operatorServer.inject('/metrics')).body
    expect(after).not.toContain(secret)
    expect(after.split('\n').length - body.split('\n').length).toBeLessThan(100)
  })
})

describe('processes and stores', () => {
  const until = async (name: string, isThere: (value: number) => boolean) => {
    while (!isThere((await samplesOf(server))[name] ?? Number.NaN)) await sleep(10)
  }

  test('the LISTEN connection: not verified before it is open, then verified, with its subscribers and events', async () => {
    expect(await samplesOf(server)).toMatchObject({ valetkey_listen_verified: 0, valetkey_feed_subscribers: 0 })
    const bypassed = (await samplesOf(server))['valetkey_registry_bypasses_total{table=clients}']
    expect(bypassed).toBeGreaterThan(0)
    const startedAt = performance.now()
    await startChannel(server)
    await until('valetkey_listen_verified', (verified) => verified === 1)
    const { valetkey_listen_losses_total: losses, valetkey_listen_proof_age_seconds: age } = await samplesOf(server)
    expect(losses).toBe(0)
    expect((age ?? Number.NaN) * 1_000).toBeLessThanOrEqual(performance.now() - startedAt)
    const stream = await subscribe(server, resourceServer)
    expect((await samplesOf(server)).valetkey_feed_subscribers).toBe(1)
    const { access_token } = await obtainTokens(server, client)
    await post(server, '/oauth/revoke', { token: access_token }, basic(client))
    await until('valetkey_feed_revocations_total', (heard) => heard === 1)
    stream.request.destroy()
    await until('valetkey_feed_subscribers', (subscribers) => subscribers === 0)
    await server.deps.channel.close()
    expect((await samplesOf(server)).valetkey_listen_verified).toBe(0)
  })

  test('concurrent introspections: one statement, and the size of its batch', async () => {
    const { access_token } = await obtainTokens(server, client)
    await introspect(server, resourceServer, access_token)
    const name = (part: string) => `valetkey_statement_batch_size_${part}{statement=introspect}`
    const before = await samplesOf(server)
    await Promise.all(Array.from({ length: 20 }, () => introspect(server, resourceServer, access_token)))
    const after = await samplesOf(server)
    expect((after[name('sum')] ?? 0) - (before[name('sum')] ?? 0)).toBe(20)
    expect((after[name('count')] ?? 0) - (before[name('count')] ?? 0)).toBeLessThan(20)
  })

  test('the stored tokens, as of the last run of housekeeping', async () => {
    await obtainTokens(server, client)
    const [row] = await server.database.query<{ count: number }>({
      name: '',
      text: 'select count(*)::int as count from access_tokens',
      values: []
    })
    expect(row?.count).toBeGreaterThan(0)
    // A connection reports its inserts later. If that is after an analyze, they count twice until the next one.
    let stored: number | undefined
    while (stored !== row?.count) {
      await server.database.query({ name: '', text: 'analyze', values: [] })
      await server.deps.buckets.keep(3600)
      stored = (await samplesOf(server)).valetkey_access_tokens_stored
    }
    // A day later all of them have expired.
    const tomorrow = createAccessTokenBuckets(atTime(server.database, new Date(Date.now() + 86_400_000)))
    await tomorrow.keep(3600)
    expect(tomorrow.estimate()).toBe(0)
  })

  test('refusals of rate limits count under the kind of the limit, and every kind is known', async () => {
    const watched = createServerMetrics()
    const limiter = createLimiter(createAttemptCounterStore(server.redis), 0.000001, watched.limiterRefused)
    const ofCallers = [
      accountLinkLimit,
      providerAddressLimit,
      clientAuthenticationLimit,
      resourceServerAuthenticationLimit,
      operatorAuthenticationLimit,
      appFormLimit,
      accountChangeLimit,
      newClientLimit
    ]
    const ofPushes = (['public', 'confidential'] as const).map((type) =>
      pushedRequestLimit({ type, clientId: 'photo-app' }, '::1')
    )
    const kinds = [
      ...signInLimits(canonicalName('a'), '::1', false),
      ...ofCallers.map((limitOf) => limitOf('::1')),
      ...ofPushes,
      reportedTokenLimit('::1')
    ]
    for (const limit of kinds) {
      await limiter.count(limit)
      await expect(limiter.count(limit)).rejects.toThrow(TooManyAttempts)
    }
    await clearCounters(server)
    const lines = (await watched.metrics.expose()).matchAll(/^valetkey_limiter_refusals_total\{limit="(.+)"\} (\d+)$/gm)
    expect([...lines].map(([, kind, count]) => [kind, count])).toEqual(
      kinds.map(({ name }) => [name.split(':', 1)[0], '1']).toSpliced(3, 0, ['sign-in-waiting', '0'])
    )
  })

  test('the password queue: running, waiting and refused', async () => {
    const metrics = createMetrics()
    const queue = createPasswordQueue({ atOnce: 1, bytes: 2 ** 29, waiting: 1, milliseconds: 10_000 })
    watchPasswordQueue(metrics, queue)
    const cost = { milliseconds: 1, bytes: 0 }
    let end = () => {}
    const held = () =>
      new Promise<void>((resolve) => {
        end = resolve
      })
    const running = queue.run({ cost, work: held })
    await sleep(0)
    const waiting = queue.run({ cost, work: async () => {} })
    await expect(queue.run({ cost, work: held })).rejects.toThrow()
    const text = await metrics.expose()
    expect(text).toContain('valetkey_password_hashes{state="running"} 1\nvaletkey_password_hashes{state="waiting"} 1\n')
    expect(text).toContain('valetkey_password_hashes_refused_total 1\n')
    end()
    await Promise.all([running, waiting])
  })

  test('/metrics and /readyz are only on the operator listener', async () => {
    for (const other of [server.publicServer, server.internalServer])
      expect((await other.inject('/metrics')).statusCode).toBe(404)
  })
})

describe('groups of routes', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ ISSUER: 'https://example.com/auth' })
  })
  afterAll(() => server.close())

  type Listener = 'publicServer' | 'internalServer' | 'operatorServer'

  /** The group under which requests to a route were counted. */
  async function groupOf(route: string): Promise<string | undefined> {
    const { body } = await server.operatorServer.inject('/metrics')
    const count = new RegExp(
      `^valetkey_http_request_duration_seconds_count\\{.*route_group="([a-z_]+)",route="${route}".*`,
      'm'
    )
    return count.exec(body)?.[1]
  }

  test.each<[string, Listener, 'GET' | 'POST', string]>([
    ['sign_in', 'publicServer', 'GET', '/auth/oauth/authorize'],
    ['sign_in', 'publicServer', 'GET', '/auth/login'],
    ['sign_in', 'publicServer', 'GET', '/auth/consent'],
    ['sign_in', 'publicServer', 'POST', '/auth/logout'],
    ['sign_in', 'publicServer', 'GET', '/auth/account/apps'],
    ['token', 'publicServer', 'POST', '/auth/token'],
    ['token', 'publicServer', 'POST', '/auth/oauth/revoke'],
    ['static', 'publicServer', 'GET', '/.well-known/oauth-authorization-server/auth'],
    ['introspection', 'internalServer', 'POST', '/introspect'],
    ['introspection', 'internalServer', 'POST', '/introspections'],
    ['feed', 'internalServer', 'POST', '/revocations'],
    ['admin', 'operatorServer', 'GET', '/admin/users'],
    ['health', 'operatorServer', 'GET', '/readyz'],
    ['unknown', 'publicServer', 'GET', 'unknown']
  ])('%s: %s %s %s', async (group, listener, method, route) => {
    await server[listener].inject({ method, url: route === 'unknown' ? '/nowhere' : route })
    expect(await groupOf(route)).toBe(group)
  })
})
