import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { hashToken, secretIdOf } from '@valetkey/oauth-protocol'
import { signInLimits } from '../../../src/platform/rate-limits/rules.js'
import { collectAuditLog, idOf, storedEvents } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { clearCounters, setCounter } from '../../support/counters.js'
import { authorizeUrl, bodyCredentials, PASSWORD, post } from '../../support/flow.js'
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
    await setCounter(server, signInLimits('alice', address, false)[0], 20)
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
    expect(eventsOf(answer)).toEqual([{ event: 'consent_denied', clientId: client.clientId, userId, address: ADDRESS }])
  })

  test.each([
    { name: 'an unknown client', change: { client_id: 'unknown' }, reason: 'unknown_client' },
    { name: 'another redirect URI', change: { redirect_uri: 'https://evil.example' }, reason: 'redirect_uri_mismatch' },
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
