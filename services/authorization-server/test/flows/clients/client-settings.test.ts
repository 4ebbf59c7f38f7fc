import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, newOpaqueToken, secretIdOf } from '@valetkey/oauth-protocol'
import { startAdministration } from '../../support/administration.js'
import { collectAuditLog } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { runCommand } from '../../support/command-line.js'
import { clearCounters } from '../../support/counters.js'
import { basic, exchange, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { openConsent } from '../../support/pages.js'
import { isActive, obtainTokens, pairOf } from '../../support/tokens.js'

const { logger, eventsOf } = collectAuditLog()
const clock = stopClock()

let server: TestServer
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer(
    { ACCESS_TOKEN_TTL: '3600', REFRESH_TOKEN_IDLE_TTL: '7200', REFRESH_TOKEN_MAX_TTL: '86400' },
    logger
  )
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('lifetimes of tokens', () => {
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
      const found = await server.deps.authorize.clients.find(client.clientId)
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
})

describe('use of secrets', () => {
  /** The same client by its old secret and by its new one. */
  let old: Credentials
  let fresh: Credentials

  beforeEach(async () => {
    old = await server.createClient()
    fresh = { clientId: old.clientId, clientSecret: (await clients('rotate-secret', old.clientId)).client_secret }
  })
  afterAll(() => clearCounters(server))

  async function clients(...args: string[]) {
    const { code, out, said } = await runCommand(server.database, ['clients', ...args, '--json'])
    expect([code, said]).toEqual([0, ''])
    return JSON.parse(out)
  }

  const withOtherEnd = (secret: string) => secret.slice(0, -1) + (secret.endsWith('x') ? 'y' : 'x')
  const idOf = ({ clientSecret }: Credentials) => secretIdOf(hashToken(clientSecret))
  const secretIdsIn = (answer: Parameters<typeof eventsOf>[0]) =>
    eventsOf(answer).map(({ event, secretId }) => [event, secretId])

  describe('audit: which of two secrets was used', () => {
    test('every audit event of an authenticated client has the id of the secret', async () => {
      const exchanged = await exchange(server, old, await obtainCode(server, old))
      expect(secretIdsIn(exchanged)).toEqual([['code_redeemed', idOf(old)]])
      const refreshed = await refresh(server, fresh, exchanged.json().refresh_token)
      expect(secretIdsIn(refreshed)).toEqual([['token_refreshed', idOf(fresh)]])
      const repeated = await refresh(server, old, exchanged.json().refresh_token)
      expect(secretIdsIn(repeated)).toEqual([['refresh_response_repeated', idOf(old)]])
      const revoked = await post(server, '/oauth/revoke', { token: refreshed.json().access_token }, basic(fresh))
      expect(secretIdsIn(revoked)).toEqual([['token_revoked', idOf(fresh)]])
      const refused = await exchange(server, old, 'vk_ac_x')
      expect(secretIdsIn(refused)).toEqual([['request_refused', idOf(old)]])
      expect(idOf(old)).not.toBe(idOf(fresh))
    })

    test('the table has the id as well, so a filter finds the uses of the old secret', async () => {
      await exchange(server, old, await obtainCode(server, old))
      await server.deps.audit.close()
      const tail = ['audit', 'tail', '--secret', idOf(old), '--json']
      const { events } = JSON.parse((await runCommand(server.database, tail)).out)
      const found = events.filter(({ event }: { event: string }) => event === 'code_redeemed')
      expect(found).toEqual([expect.objectContaining({ client_id: old.clientId, address: '127.0.0.1' })])
      const admin = await startAdministration(server)
      const listed = await admin.call('GET', `/audit?secret_id=${idOf(old)}&event=code_redeemed`)
      expect(listed.json().events).toEqual(found)
      const none = await admin.call('GET', `/audit?secret_id=${idOf(fresh)}&event=code_redeemed`)
      expect(none.json().events).toEqual([])
    })

    test.each(['', 'ABCDEF012345', '0123456789a', "x' or ''='"])(
      'the invalid secret id %j is wrong usage (2)',
      async (id) => {
        expect((await runCommand(server.database, ['audit', 'tail', '--secret', id])).code).toBe(2)
      }
    )

    test('the id is recorded for an expired secret and for a disabled client, but not for a malformed secret', async () => {
      await clients('delete-secret', old.clientId, idOf(old), '--yes')
      await until(async () => (await exchange(server, old, 'vk_ac_x')).statusCode === 401)
      const ended = await exchange(server, old, 'vk_ac_x')
      expect(eventsOf(ended)).toEqual([expect.objectContaining({ reason: 'wrong_secret', secretId: idOf(old) })])
      const typed = await exchange(server, { ...old, clientSecret: 'correct horse' }, 'vk_ac_x')
      expect(eventsOf(typed)).toEqual([expect.not.objectContaining({ secretId: expect.anything() })])
      const unknown = { clientId: 'unknown', clientSecret: newOpaqueToken('clientSecret', randomBytes) }
      const strange = await exchange(server, unknown, 'vk_ac_x')
      expect(eventsOf(strange)).toEqual([
        expect.objectContaining({ reason: 'unknown_client', secretId: idOf(unknown) })
      ])
      expect(ended.body).toBe(strange.body)
    })

    test('no response contains the id', async () => {
      const exchanged = await exchange(server, old, await obtainCode(server, old))
      expect(exchanged.body + JSON.stringify(exchanged.headers)).not.toContain(idOf(old))
    })
  })

  describe('last use', () => {
    test('is stored for the used secret only; a wrong secret stores nothing', async () => {
      await exchange(server, old, 'vk_ac_x')
      await exchange(server, { ...fresh, clientSecret: withOtherEnd(fresh.clientSecret) }, 'vk_ac_x')
      await Promise.all(server.deps.closeables.map((each) => each.close()))
      const { secrets } = await clients('secrets', old.clientId)
      // Secrets are found by id: at a clock that stands still, the order of the list does not show which is older.
      const used = secrets.map(({ secret_id: id, last_used_at: at = 'never' }: Record<string, string>) => [id, at])
      expect(Object.fromEntries(used)).toEqual({
        [idOf(old)]: expect.stringMatching(/^\d{4}-.*Z$/),
        [idOf(fresh)]: 'never'
      })
    })

    test('is stored for the credential of a resource server', async () => {
      const caller = await server.createResourceServer()
      await introspect(server, caller, 'x')
      await introspect(server, { ...caller, clientSecret: 'x' }, 'x')
      await Promise.all(server.deps.closeables.map((each) => each.close()))
      const { out } = await runCommand(server.database, ['resource-servers', 'list', '--json'])
      const found = JSON.parse(out).resource_servers.find(
        (each: { client_id: string }) => each.client_id === caller.clientId
      )
      expect(found.last_used_at).toMatch(/^\d{4}-.*Z$/)
    })
  })
})
