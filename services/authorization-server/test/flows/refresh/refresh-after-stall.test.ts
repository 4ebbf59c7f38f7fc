import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { atTime } from '../../support/postgres-clock.js'
import { obtainTokens, pairOf } from '../../support/tokens.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

/** An instance whose statements of this name are carried out so many seconds after they were sent. */
const delaying = (name: string, seconds: number) =>
  startInstance(server, {
    wrap: (database: Database) => ({
      ...database,
      query: (statement) =>
        (statement.name.startsWith(name)
          ? atTime(database, () => new Date(Date.now() + seconds * 1000))
          : database
        ).query(statement)
    })
  })

test('a rotation that Postgres committed 20 s late can be repeated for the whole window from its commit', async () => {
  const first = await obtainTokens(server, client)
  const stalled = await delaying('rotate_refresh_token', 20)
  const pair = pairOf(await refresh(stalled, client, first.refresh_token))
  await stalled.close()
  // 30 s after it was sent the window would be over; it ends 30 s after the rotation.
  const later = await delaying('find_refresh_token', 40)
  expect(pairOf(await refresh(later, client, first.refresh_token)).refresh_token).toBe(pair.refresh_token)
  await later.close()
})
