import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { basic, exchange, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'
import { growth } from '../../support/samples.js'
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
  const unknown = () => server.publicServer.inject({ url: '/oauth/authorize?client_id=x', remoteAddress: '192.0.2.9' })
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
