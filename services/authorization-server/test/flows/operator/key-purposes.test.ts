import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, startAdministration } from '../../support/administration.js'
import { collectAuditLog } from '../../support/audit-log.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'

const { logger, eventsOf } = collectAuditLog()
let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
})
afterAll(() => server.close())

const REVOCATION = { method: 'POST', url: '/admin/global-token-revocation' }

async function keyFor(purpose: string) {
  const { operator_key: key } = (await admin.call('POST', '/operator-keys', { name: randomUUID(), purpose })).json()
  return (method: string, url: string, payload?: object) =>
    server.operatorServer.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${key}` },
      ...(payload && { payload })
    })
}

/** Every route of the administration API, with a value for each parameter. */
async function routes() {
  const { paths } = (await admin.call('GET', '/openapi.json')).json<{ paths: Record<string, object> }>()
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), url: path.replace(/\{\w+\}/g, 'x') }))
  )
}

describe('operator keys with a purpose', () => {
  test('revoke-users: global token revocation, and 403 at every other route and address', async () => {
    const call = await keyFor('revoke-users')
    const subject = { sub_id: { format: 'opaque', id: randomUUID() } }
    expect((await call('POST', REVOCATION.url, subject)).statusCode).toBe(404)
    const others = (await routes()).filter(({ method, url }) => method !== REVOCATION.method || url !== REVOCATION.url)
    expect(others.length).toBeGreaterThan(40)
    for (const { method, url } of [...others, { method: 'GET', url: '/admin/nothing' }]) {
      expect([method, url, (await call(method, url)).statusCode]).toEqual([method, url, 403])
    }
  })

  test('read: every GET, and 403 at all others', async () => {
    const call = await keyFor('read')
    for (const { method, url } of await routes()) {
      const { statusCode } = await call(method, url)
      if (method === 'GET' || method === 'HEAD') expect([method, url, statusCode]).not.toEqual([method, url, 403])
      else expect([method, url, statusCode]).toEqual([method, url, 403])
    }
    expect((await call('GET', '/admin/users')).statusCode).toBe(200)
  })

  test('a refusal is audited, and says what the key may do', async () => {
    const call = await keyFor('read')
    const answer = await call('POST', '/admin/operator-keys', { name: 'another' })
    expect([answer.statusCode, answer.json().detail]).toEqual([403, 'The operator key may only read.'])
    expect(eventsOf(answer)).toMatchObject([{ event: 'operator_refused', reason: 'other_purpose' }])
  })

  test('another purpose is 400, at the command line a usage error', async () => {
    const answer = await admin.call('POST', '/operator-keys', { name: 'wrong', purpose: 'write' })
    expect(answer.statusCode).toBe(400)
    const command = ['operator-keys', 'create', '--name', 'wrong', '--only', 'write']
    expect((await runCommand(server.database, command)).code).toBe(2)
  })

  test('the command line creates and lists it', async () => {
    const command = ['operator-keys', 'create', '--name', 'leavers', '--only', 'revoke-users']
    expect((await runCommand(server.database, command)).code).toBe(0)
    const { out } = await runCommand(server.database, ['operator-keys', 'list'])
    expect(out).toMatch(/leavers +revoke-users +live +never/)
    expect((await admin.call('GET', '/operator-keys')).json().operator_keys).toContainEqual(
      expect.objectContaining({ name: 'leavers', purpose: 'revoke-users' })
    )
    const [event] = (await admin.call('GET', '/audit?event=operator_key_created&limit=1')).json().events
    expect(event.details).toMatchObject({ name: 'leavers', purpose: 'revoke-users' })
  })
})
