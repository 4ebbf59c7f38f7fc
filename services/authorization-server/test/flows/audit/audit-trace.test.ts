import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { signInAndAllow, TRACE_HEADERS, traced, tracesOf } from '../../support/audit-traces.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl, basic, exchange, PASSWORD, post } from '../../support/flow.js'
import { behindTracingProxy } from '../../support/traced-server.js'

/** Without the proxy. */
let direct: TestServer
let server: TestServer
let client: Credentials

beforeAll(async () => {
  direct = await startTestServer({ TRUSTED_PROXIES: '127.0.0.1' })
  server = behindTracingProxy(direct, TRACE_HEADERS)
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => direct.close())

describe('each audit event of a request from a trusted proxy has its trace id', () => {
  test('from sign-in to the tokens and their refusal', async () => {
    const events = await tracesOf(server, async () => {
      const code = await signInAndAllow(server, authorizeUrl(client.clientId))
      expect((await exchange(server, client, code)).statusCode).toBe(200)
      await post(server, '/token', { grant_type: 'authorization_code' }, basic({ ...client, clientSecret: 'wrong' }))
    })
    const names = ['sign_in_succeeded', 'consent_given', 'code_issued', 'code_redeemed', 'request_refused']
    expect(events).toEqual(traced(...names))
  })

  test('of the internal listener, each peer', async () => {
    const events = await tracesOf(server, async () =>
      server.internalServer.inject({
        method: 'POST',
        url: '/introspect',
        remoteAddress: '192.0.2.9',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...TRACE_HEADERS, ...basic(client) },
        payload: 'token=x'
      })
    )
    expect(events).toEqual(traced('request_refused'))
  })
})

test.each([
  { name: 'an untrusted peer', remoteAddress: '192.0.2.9', headers: TRACE_HEADERS },
  {
    name: 'a trusted proxy, without traceparent',
    remoteAddress: '127.0.0.1',
    headers: { tracestate: 'vendor=opaque' }
  },
  {
    name: 'a trusted proxy, with an invalid one',
    remoteAddress: '127.0.0.1',
    headers: { traceparent: TRACE_HEADERS.traceparent.slice(0, 35) }
  }
])('an event of $name has no trace id', async ({ remoteAddress, headers }) => {
  const events = await tracesOf(server, async () =>
    direct.publicServer.inject({ url: '/oauth/authorize', remoteAddress, headers })
  )
  expect(events).toEqual({ authorization_refused: null })
})
