import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { hashToken, secretIdOf } from '@valetkey/oauth-protocol'
import { collectAuditLog, idOf, storedEvents } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters } from '../../support/counters.js'
import { basic, exchange, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'

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
