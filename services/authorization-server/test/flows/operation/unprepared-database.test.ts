import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { checkWritable, connectPostgres, problemOf } from '@valetkey/service-kit'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD, post } from '../../support/flow.js'
import { listenUrlOf } from '../../support/instance.js'
import { obtainTokens } from '../../support/tokens.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

const run = (text: string) => server.database.query({ name: '', text, values: [] })

test.each([
  {
    name: 'a table is missing',
    begin: 'alter table refresh_tokens rename to moved',
    end: 'alter table moved rename to refresh_tokens'
  },
  {
    name: 'a column is missing',
    begin: 'alter table refresh_tokens rename rotated_at to moved',
    end: 'alter table refresh_tokens rename moved to rotated_at'
  }
])('while $name, a refresh is 503; afterwards it succeeds', async ({ begin, end }) => {
  const { refresh_token } = await obtainTokens(server, client)
  const form = {
    grant_type: 'refresh_token',
    refresh_token,
    client_id: client.clientId,
    client_secret: client.clientSecret
  }
  await run(begin)
  const refused = await post(server, '/token', form)
  await run(end)
  expect([refused.statusCode, refused.json().error]).toEqual([503, 'temporarily_unavailable'])
  expect(refused.headers['retry-after']).toBeDefined()
  expect((await post(server, '/token', form)).statusCode).toBe(200)
})

test('while a table is missing, the readiness check fails', async () => {
  await run('alter table users rename to moved')
  await expect(checkWritable(server.database, ['users'])).rejects.toThrow()
  await run('alter table moved rename to users')
  await expect(checkWritable(server.database, ['users', 'grants'])).resolves.toBeUndefined()
})

test('a read-only database fails the readiness check, which names the reason', async () => {
  const url = new URL(listenUrlOf(server.config))
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  const readOnly = connectPostgres(url.href, { connections: 1 })
  const failure = await checkWritable(readOnly, ['users']).catch((error: unknown) => error)
  await readOnly.close()
  expect(problemOf(failure)).toMatchObject({ reason: 'takes no writes' })
})
