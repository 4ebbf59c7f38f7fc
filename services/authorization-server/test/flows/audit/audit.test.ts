import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { hashToken, secretIdOf } from '@valetkey/oauth-protocol'
import { canonicalName } from '@valetkey/sign-in-rules'
import { signInLimits } from '../../../src/platform/rate-limits/rules.js'
import { collectAuditLog, idOf, storedEvents } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { clearCounters, setCounter } from '../../support/counters.js'
import {
  authorizeUrl,
  basic,
  bodyCredentials,
  exchange,
  introspect,
  obtainCode,
  PASSWORD,
  post,
  refresh
} from '../../support/flow.js'
import { fromForm, openEndOfAccess, signedInBrowser } from '../../support/pages.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { disable } from '../../support/tokens.js'

const { logger, eventsOf, loggedEvents } = collectAuditLog()
const ADDRESS = '127.0.0.1'

let server: TestServer
let client: Credentials
let userId: string

beforeAll(async () => {
  server = await startTestServer({}, logger)
  userId = await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

describe('sign-in and authorization', () => {
  async function openConsent() {
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId))
    return { browser, consent: await browser.submit(login, { username: 'alice', password: PASSWORD }) }
  }

  describe('sign-in', () => {
    test('a success names the user and the address', async () => {
      const answer = await attemptSignIn(server, { username: 'alice', password: PASSWORD, address: '192.0.2.7' })
      expect(eventsOf(answer)).toEqual([{ event: 'sign_in_succeeded', userId, address: '192.0.2.7' }])
    })

    test('a failure has the reason, which the response does not have', async () => {
      const disabledId = await server.createUser('mallory', PASSWORD)
      await disable(server, 'user', disabledId)
      const address = '192.0.2.8'
      const cases = [
        { attempt: { username: 'alice', password: 'wrong' }, event: { userId, reason: 'wrong_password' } },
        { attempt: { username: 'unknown', password: PASSWORD }, event: { reason: 'unknown_user' } },
        { attempt: { username: 'mallory', password: PASSWORD }, event: { userId: disabledId, reason: 'disabled_user' } }
      ]
      for (const { attempt, event } of cases) {
        const answer = await attemptSignIn(server, { ...attempt, address })
        expect(eventsOf(answer)).toEqual([{ event: 'sign_in_failed', address, ...event }])
        expect(answer.body).not.toContain(event.reason)
      }
      await setCounter(server, signInLimits(canonicalName('alice'), address, false)[0], 20)
      const rateLimited = await attemptSignIn(server, { username: 'alice', password: PASSWORD, address })
      expect(eventsOf(rateLimited)).toEqual([{ event: 'sign_in_failed', address, reason: 'too_many_attempts' }])
      await clearCounters(server)
    })

    test('signing out names the user', async () => {
      const browser = server.newBrowser()
      const page = await browser.submit(await browser.open(`${server.config.issuer}/login`), {
        username: 'alice',
        password: PASSWORD
      })
      expect(eventsOf(await browser.submitOnly(page, {}))).toEqual([{ event: 'signed_out', userId, address: ADDRESS }])
    })

    test('the end of one session, and of all others, names the user', async () => {
      for (let others = 0; others < 2; others++) await signedInBrowser(server)
      const browser = await signedInBrowser(server)
      for (const [form, event] of [
        ['end', 'session_ended'],
        ['end-others', 'other_sessions_ended']
      ]) {
        const page = await browser.open(`${server.config.issuer}/account/sessions`)
        const answer = await browser.submitOnly(fromForm(page, `/account/sessions/${form}`), {})
        expect(eventsOf(answer)).toEqual([{ event, userId, address: ADDRESS }])
      }
    })

    test('the end of the access of an app names app, user and grant', async () => {
      const app = await server.createClient()
      await exchange(server, app, await obtainCode(server, app))
      const browser = await signedInBrowser(server)
      const answer = await browser.submitOnly(await openEndOfAccess(browser, app.clientId), {})
      const concerned = { clientId: app.clientId, userId, grantId: expect.any(String), address: ADDRESS }
      expect(eventsOf(answer)).toEqual([{ event: 'grant_ended', ...concerned, reason: 'ended_by_user' }])
    })
  })

  describe('authorization', () => {
    const issued = { clientId: '', userId: '', address: ADDRESS, scope: ['files.read'] }

    test('Allow records the code and the consent, with client, user and scope', async () => {
      const { browser, consent } = await openConsent()
      const answer = await browser.submitOnly(consent, { decision: 'allow' })
      const common = { ...issued, clientId: client.clientId, userId }
      expect(eventsOf(answer)).toEqual([
        { event: 'code_issued', ...common },
        { event: 'consent_given', ...common }
      ])
    })

    test('a form of another site is refused and recorded', async () => {
      const { browser, consent } = await openConsent()
      const answer = await browser.submitOnly(consent, { decision: 'allow' }, { origin: 'https://evil.example' })
      expect(eventsOf(answer)).toEqual([{ event: 'form_refused', userId, reason: 'foreign_form', address: ADDRESS }])
    })

    test('a repeated decision is recorded as repeated', async () => {
      const { browser, consent } = await openConsent()
      await browser.submitOnly(consent, { decision: 'allow' })
      const answer = await browser.submitOnly(consent, { decision: 'allow' })
      const concerned = { clientId: client.clientId, userId, address: ADDRESS }
      expect(eventsOf(answer)).toEqual([{ event: 'consent_decision_repeated', ...concerned, reason: 'allowed' }])
    })

    test('Deny is a separate event', async () => {
      const { browser, consent } = await openConsent()
      const answer = await browser.submitOnly(consent, { decision: 'deny' })
      expect(eventsOf(answer)).toEqual([
        { event: 'consent_denied', clientId: client.clientId, userId, address: ADDRESS }
      ])
    })

    test.each([
      { name: 'an unknown client', change: { client_id: 'unknown' }, reason: 'unknown_client' },
      {
        name: 'another redirect URI',
        change: { redirect_uri: 'https://evil.example' },
        reason: 'redirect_uri_mismatch'
      },
      { name: 'an unknown scope', change: { scope: 'files.write' }, reason: 'invalid_scope' },
      { name: 'another response type', change: { response_type: 'token' }, reason: 'unsupported_response_type' }
    ] as { name: string; change: Record<string, string>; reason: string }[])(
      'a refusal has its reason: $name',
      async ({ change, reason }) => {
        const answer = await server.newBrowser().get(authorizeUrl(client.clientId, change))
        expect(eventsOf(answer)).toEqual([
          expect.objectContaining({
            event: 'authorization_refused',
            clientId: change.client_id ?? client.clientId,
            reason,
            address: ADDRESS
          })
        ])
      }
    )
  })

  test('the table has the same events under the same request id', async () => {
    const answer = await post(server, '/token', { grant_type: 'other', ...bodyCredentials(client) })
    const text =
      'select event, request_id, client_id, user_id, address, details, occurred_at from audit_events where request_id = $1'
    let rows: object[] = []
    await until(async () => {
      rows = await server.database.query({ name: 'test_audit_events', text, values: [idOf(answer)] })
      return rows.length > 0
    })
    expect(rows).toEqual([
      {
        event: 'request_refused',
        request_id: idOf(answer),
        client_id: client.clientId,
        user_id: null,
        address: ADDRESS,
        details: { reason: 'unsupported_grant_type', secretId: secretIdOf(hashToken(client.clientSecret)) },
        occurred_at: expect.any(Date)
      }
    ])
    expect(await storedEvents(server)).toBe(loggedEvents())
  })
})

describe('tokens', () => {
  const tokensOf = async () => (await exchange(server, client, await obtainCode(server, client))).json()

  const refused = (reason: string, more: object = {}) => [
    expect.objectContaining({ event: 'request_refused', reason, address: ADDRESS, ...more })
  ]

  test('exchange, refresh, repeated refresh and revocation each record client, secret, user and grant', async () => {
    const secretId = secretIdOf(hashToken(client.clientSecret))
    const concerned = { clientId: client.clientId, userId, grantId: expect.any(String), address: ADDRESS, secretId }
    const exchanged = await exchange(server, client, await obtainCode(server, client))
    expect(eventsOf(exchanged)).toEqual([{ event: 'code_redeemed', ...concerned }])
    const { access_token: accessToken, refresh_token: refreshToken } = exchanged.json()
    const refreshed = await refresh(server, client, refreshToken)
    expect(eventsOf(refreshed)).toEqual([{ event: 'token_refreshed', ...concerned, scope: ['files.read'] }])
    const repeated = await refresh(server, client, refreshToken)
    expect(eventsOf(repeated)).toEqual([{ event: 'refresh_response_repeated', ...concerned }])
    const revoked = await post(server, '/oauth/revoke', { token: accessToken }, basic(client))
    expect(eventsOf(revoked)).toEqual([{ event: 'token_revoked', ...concerned }])
    const ended = await post(server, '/oauth/revoke', { token: refreshToken }, basic(client))
    expect(eventsOf(ended)).toEqual([{ event: 'grant_ended', ...concerned, reason: 'revoked' }])
    const again = await post(server, '/oauth/revoke', { token: refreshToken }, basic(client))
    expect(eventsOf(again)).toEqual([])
  })

  test('reuse of a code and of a refresh token is recorded', async () => {
    const code = await obtainCode(server, client)
    await exchange(server, client, code)
    const replay = await exchange(server, client, code)
    const grant = { clientId: client.clientId, grantId: expect.any(String) }
    expect(eventsOf(replay)).toEqual([
      expect.objectContaining({ event: 'code_reused', ...grant, userId }),
      ...refused('code_used', grant)
    ])
    const first = await tokensOf()
    const second = (await refresh(server, client, first.refresh_token)).json()
    await refresh(server, client, second.refresh_token)
    const reuse = await refresh(server, client, first.refresh_token)
    expect(eventsOf(reuse)).toEqual([
      expect.objectContaining({ event: 'refresh_token_reused', ...grant, userId }),
      ...refused('refresh_token_reused', grant)
    ])
  })

  test('the exact cause of a refused code is recorded under the request id, and not in the response (contract "Errors")', async () => {
    const other = await server.createClient()
    const code = await obtainCode(server, client)
    const spent = await obtainCode(server, client)
    await exchange(server, client, spent)
    const elsewhere = { redirect_uri: 'https://app.example/other' }
    const cases = [
      { reason: 'malformed_code', answer: await exchange(server, client, 'vk_ac_x') },
      { reason: 'wrong_client', answer: await exchange(server, other, code) },
      { reason: 'wrong_redirect_uri', answer: await exchange(server, client, code, elsewhere) },
      {
        reason: 'wrong_code_challenge',
        answer: await exchange(server, client, code, { code_verifier: 'v'.repeat(43) })
      },
      { reason: 'code_used_and_wrong_redirect_uri', answer: await exchange(server, client, spent, elsewhere) }
    ]
    for (const { reason, answer } of cases) {
      expect(eventsOf(answer)).toEqual(refused(reason))
      expect(answer.body).not.toContain(reason)
    }
    const bodies = cases.slice(0, 4).map(({ answer }) => answer.body)
    expect(new Set(bodies).size).toBe(1)
  })

  test('the exact cause of a failed authentication is recorded under the request id', async () => {
    const wrongSecret = { clientId: client.clientId, clientSecret: 'wrong' }
    const cases = [
      { reason: 'wrong_secret', answer: await exchange(server, wrongSecret, 'x') },
      { reason: 'unknown_client', answer: await exchange(server, { ...wrongSecret, clientId: 'unknown' }, 'x') },
      { reason: 'wrong_authentication_method', answer: await exchange(server, { ...client, clientSecret: '' }, 'x') }
    ]
    for (const { reason, answer } of cases) expect(eventsOf(answer)).toEqual(refused(reason))
    expect(new Set(cases.map(({ answer }) => answer.body)).size).toBe(1)
    await clearCounters(server)
  })

  test('the exact cause of a refused refresh token is recorded under the request id', async () => {
    const { access_token: accessToken, refresh_token: refreshToken } = await tokensOf()
    const other = await server.createClient()
    const cases = [
      { reason: 'refresh_token_malformed', answer: await refresh(server, client, accessToken) },
      { reason: 'refresh_token_wrong_client', answer: await refresh(server, other, refreshToken) },
      {
        reason: 'refresh_token_wider_scope',
        answer: await refresh(server, client, refreshToken, { scope: 'files.read files.read:media' })
      }
    ]
    await post(server, '/oauth/revoke', { token: refreshToken }, basic(client))
    cases.push({ reason: 'refresh_token_grant_ended', answer: await refresh(server, client, refreshToken) })
    for (const { reason, answer } of cases) expect(eventsOf(answer)).toEqual(refused(reason))
  })

  test('a refused resource server is recorded under the request id that it sent', async () => {
    const requestId = `gateway-${randomUUID()}`
    const answer = await server.internalServer.inject({
      method: 'POST',
      url: '/introspect',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-request-id': requestId, ...basic(client) },
      payload: 'token=x'
    })
    expect([answer.statusCode, idOf(answer)]).toEqual([401, requestId])
    expect(eventsOf(answer)).toEqual(refused('wrong_resource_server_credentials'))
    const good = await introspect(server, await server.createResourceServer(), 'x')
    expect(eventsOf(good)).toEqual([])
  })

  test('the table has as many events as the log', async () => {
    expect(loggedEvents()).toBeGreaterThan(20)
    expect(await storedEvents(server)).toBe(loggedEvents())
  })
})
