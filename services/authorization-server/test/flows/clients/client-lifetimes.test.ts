import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { runCommand } from '../../support/command-line.js'
import { PASSWORD, refresh } from '../../support/flow.js'
import { openConsent } from '../../support/pages.js'
import { isActive, obtainTokens, pairOf } from '../../support/tokens.js'

const clock = stopClock()
let server: TestServer
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer({
    ACCESS_TOKEN_TTL: '3600',
    REFRESH_TOKEN_IDLE_TTL: '7200',
    REFRESH_TOKEN_MAX_TTL: '86400'
  })
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

const withLifetimes = (accessToken?: number, refreshTokenIdle?: number, refreshTokenMax?: number) =>
  server.createClient({ lifetimes: { accessToken, refreshTokenIdle, refreshTokenMax } })

test('access token lifetime: the client’s applies at the exchange and at the refresh', async () => {
  const client = await withLifetimes(60)
  const first = await obtainTokens(server, client)
  expect(first.expires_in).toBe(60)
  const second = pairOf(await refresh(server, client, first.refresh_token))
  expect(second.expires_in).toBe(60)
  clock.advance(59)
  expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
  clock.advance(1)
  expect(await isActive(server, resourceServer, second.access_token)).toBe(false)
})

test('access token lifetime: the server’s applies when the client’s is longer', async () => {
  expect((await obtainTokens(server, await withLifetimes(86_400))).expires_in).toBe(3600)
})

test('refresh token: expires after the client’s idle lifetime', async () => {
  const client = await withLifetimes(undefined, 100)
  const { refresh_token } = await obtainTokens(server, client)
  clock.advance(99)
  const next = pairOf(await refresh(server, client, refresh_token))
  clock.advance(100)
  expect((await refresh(server, client, next.refresh_token)).json().error).toBe('invalid_grant')
})

test('refresh token: expires after the client’s maximum lifetime', async () => {
  const client = await withLifetimes(undefined, 100, 150)
  const { refresh_token } = await obtainTokens(server, client)
  clock.advance(90)
  const next = pairOf(await refresh(server, client, refresh_token))
  clock.advance(60)
  expect((await refresh(server, client, next.refresh_token)).json().error).toBe('invalid_grant')
})

test('changed lifetimes: apply from the next exchange or refresh', async () => {
  const client = await server.createClient()
  const first = await obtainTokens(server, client)
  expect(first.expires_in).toBe(3600)
  const args = ['clients', 'update', client.clientId, '--access-token-ttl', '5m']
  expect((await runCommand(server.database, args)).code).toBe(0)
  await until(async () => {
    const found = await server.deps.authorize.validation.clients.find(client.clientId)
    return found?.lifetimes?.accessToken === 300
  })
  expect(pairOf(await refresh(server, client, first.refresh_token)).expires_in).toBe(300)
  expect(await isActive(server, resourceServer, first.access_token)).toBe(true)
})

test('consent page: shows the client’s lifetime', async () => {
  const client = await withLifetimes(undefined, undefined, 7200)
  const { page } = await openConsent(server, client.clientId)
  expect(page.body).toContain('2 hours')
})
