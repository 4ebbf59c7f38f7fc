import { randomBytes } from 'node:crypto'
import { newOpaqueToken } from '@valetkey/oauth-protocol'
import { startAdministration } from './administration.js'
import type { TestServer } from './authorization-server.js'

/** Sends keys and passwords to the administration API in accepted, refused and malformed requests. */
export async function administerWithSecrets(
  server: TestServer,
  password: string,
  note: (kind: string, ...values: string[]) => void
): Promise<void> {
  const { call, operatorKey } = await startAdministration(server)
  const { operator_key: another } = (await call('POST', '/operator-keys', { name: 'canary' })).json()
  const unknown = newOpaqueToken('operatorKey', randomBytes)
  note('operator key', operatorKey, another, unknown)
  const { user_id } = (await call('POST', '/users', { username: 'bob', password })).json()
  const path = `/users/${user_id}/password`
  await call('PUT', path, { password })
  await call('PUT', path, `{"password":"${password}"`, { 'content-type': 'application/json' })
  await call('PUT', path, { password, [password.slice(0, 5)]: true })
  await call('GET', `/audit?access_token=${operatorKey}`)
  await call('GET', '/users', undefined, { authorization: `Bearer ${unknown}` })
  const run = (text: string) => server.database.query({ name: '', text, values: [] })
  for (const table of ['users', 'operator_keys']) {
    await run(`alter table ${table} add constraint canary check (false) not valid`)
    await call('PUT', path, { password })
    await call('POST', '/operator-keys', { name: 'not stored' })
    await run(`alter table ${table} drop constraint canary`)
  }
}
