import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, newOpaqueToken, secretIdOf } from '@valetkey/oauth-protocol'
import { startAdministration } from '../../support/administration.js'
import { collectAuditLog } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { clearCounters } from '../../support/counters.js'
import { basic, exchange, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'

const { logger, eventsOf } = collectAuditLog()

let server: TestServer
/** The same client by its old secret and by its new one. */
let old: Credentials
let fresh: Credentials

beforeAll(async () => {
  server = await startTestServer({}, logger)
  await server.createUser('alice', PASSWORD)
})
beforeEach(async () => {
  old = await server.createClient()
  fresh = { clientId: old.clientId, clientSecret: (await clients('rotate-secret', old.clientId)).client_secret }
})
afterAll(async () => {
  await clearCounters(server)
  await server.close()
})

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
    expect(eventsOf(strange)).toEqual([expect.objectContaining({ reason: 'unknown_client', secretId: idOf(unknown) })])
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
    expect(secrets).toEqual([
      expect.objectContaining({ secret_id: idOf(old), last_used_at: expect.stringMatching(/^\d{4}-.*Z$/) }),
      expect.not.objectContaining({ last_used_at: expect.anything() })
    ])
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
