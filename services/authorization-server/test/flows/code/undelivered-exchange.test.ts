import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { auditOf, grantOf, PKCE, recordOf, VERIFIER } from '../../support/codes.js'
import { basic, exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { listenOnFreePort, rawRequest } from '../../support/raw-connection.js'
import { expectRefusal } from '../../support/refusals.js'
import { isActive, pairOf } from '../../support/tokens.js'

const ALREADY_USED = 'authorization code was already used'

let server: TestServer
let paused: TestServer
let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
let port: number
let client: Credentials
let resourceServer: Credentials
let code: string
const right = { code_verifier: VERIFIER }

beforeAll(async () => {
  server = await startTestServer()
  ;({ paused, pauses } = await startPausingInstance(server))
  port = await listenOnFreePort(paused.publicServer)
  await server.createUser('alice', PASSWORD)
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  client = await server.createClient()
  code = await obtainCode(server, client, { change: PKCE })
})
afterEach(() => {
  pauses.next = undefined
})
afterAll(async () => {
  await paused.close()
  await server.close()
})

/** The exchange of the code, as bytes. */
function rawExchange(): string {
  const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example/callback', ...right }
  const body = new URLSearchParams(form).toString()
  return rawRequest(
    'POST /token',
    [
      `Authorization: ${basic(client).authorization}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`
    ],
    body
  )
}

/**
 * Sends an exchange and closes the connection while the server stores its tokens.
 * @param isStored when Postgres gets the statement
 */
async function exchangeAndLeave(isStored: Promise<void> = Promise.resolve()): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const left = new Promise<void>((resolve) => {
    pauses.next = {
      before: 'store_exchange',
      run: async () => {
        const closed = once(paused.publicServer.server, 'test-connection-closed')
        socket.destroy()
        await closed
        resolve()
        await isStored
      }
    }
  })
  paused.publicServer.server.once('connection', (connection) => {
    connection.once('close', () => paused.publicServer.server.emit('test-connection-closed'))
  })
  socket.write(rawExchange())
  await left
  while (!(await recordOf(server, code)).startsWith('issued ')) await new Promise((resolve) => setTimeout(resolve, 10))
}

test('a client that disconnected repeats the exchange while Postgres has not responded: no replay, and its tokens stay valid', async () => {
  let store = () => {}
  const isStored = new Promise<void>((resolve) => {
    store = resolve
  })
  await exchangeAndLeave(isStored)
  const repeated = await exchange(server, client, code, right)
  const { access_token } = pairOf(repeated)
  store()
  await refusalOfFirst()
  expect((await auditOf(server, repeated)).map(({ event }) => event)).toEqual(['code_redeemed'])
  expect(await isActive(server, resourceServer, access_token)).toBe(true)
  expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
  expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
  expect(await isActive(server, resourceServer, access_token)).toBe(false)
})

async function eventsOfClient(): Promise<{ event: string; reason: string | null }[]> {
  const text = `select event, details->>'reason' as reason from audit_events where client_id = $1`
  return server.database.query({ name: 'find_events', text, values: [client.clientId] })
}

/** The first exchange has ended when its refusal is in the audit table. */
async function refusalOfFirst(): Promise<void> {
  while ((await eventsOfClient()).every(({ reason }) => reason !== 'client_disconnected'))
    await new Promise((resolve) => setTimeout(resolve, 20))
}

test('a client that disconnected before the response exchanges the code again: its first tokens end, and it is not a replay', async () => {
  await exchangeAndLeave()
  while ((await grantOf(server, code)) === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(await grantOf(server, code)).toEqual({ redeemed: true, ended: false, accessTokens: 1, refreshTokens: 1 })
  const answer = await exchange(server, client, code, right)
  const { access_token } = pairOf(answer)
  await refusalOfFirst()
  expect((await auditOf(server, answer)).map(({ event }) => event)).toEqual(['code_redeemed'])
  expect((await eventsOfClient()).filter(({ event }) => event === 'code_redeemed')).toHaveLength(1)
  expect(await isActive(server, resourceServer, access_token)).toBe(true)
  expect(await grantOf(server, code)).toMatchObject({ redeemed: true, ended: false, accessTokens: 1 })
  expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
  expect(await isActive(server, resourceServer, access_token)).toBe(false)
})

test('a replay whose client disconnects before it is judged: nothing ends, and no replay is recorded', async () => {
  const { access_token } = pairOf(await exchange(server, client, code, right))
  const socket = connect(port, '127.0.0.1')
  const arrived = once(paused.publicServer.server, 'request')
  socket.write(rawExchange())
  await arrived
  socket.resetAndDestroy()
  await refusalOfFirst()
  expect((await eventsOfClient()).map(({ event }) => event)).not.toContain('code_reused')
  expect(await isActive(server, resourceServer, access_token)).toBe(true)
})
