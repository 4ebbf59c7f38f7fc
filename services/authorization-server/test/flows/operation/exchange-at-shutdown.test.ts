import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import { recordOf } from '../../support/codes.js'
import { bodyCredentials, obtainCode, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { overTheWire } from '../../support/over-the-wire.js'
import { lockGrantOfCode } from '../../support/row-lock.js'
import { isActive } from '../../support/tokens.js'

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

test('a stop completes the exchanges in Postgres and those that wait for the next batch', async () => {
  const instance = await startInstance(server)
  const send = await overTheWire(instance.publicServer)
  const codes: string[] = []
  for (let count = 0; count < 6; count++) codes.push(await obtainCode(server, client))
  const exchange = (code: string) =>
    send('/token', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        ...bodyCredentials(client),
        grant_type: 'authorization_code',
        redirect_uri: REDIRECT_URI,
        code
      }).toString()
    })

  // Two statements are held up in Postgres, so that what comes after them has to wait in the process.
  const [first = '', second = '', ...others] = codes
  const locks = [await lockGrantOfCode(server, first)]
  const exchanges = [exchange(first)]
  await locks[0]?.blocked(1)
  locks.push(await lockGrantOfCode(server, second))
  exchanges.push(exchange(second))
  await locks[0]?.blocked(2)
  for (const code of others) exchanges.push(exchange(code))
  // From then on each of them only waits for Postgres.
  const isTaken = async (code: string) => (await recordOf(server, code)).startsWith('taken ')
  await until(async () => (await Promise.all(others.map(isTaken))).every(Boolean))

  const closed = instance.close()
  for (const lock of locks) await lock.release()
  const answers = await Promise.all(exchanges)
  await closed
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(codes.map(() => 200))
  for (const { body } of answers) {
    expect(await isActive(server, resourceServer, JSON.parse(body).access_token)).toBe(true)
  }
})
