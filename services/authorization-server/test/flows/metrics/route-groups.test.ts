import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ ISSUER: 'https://example.com/auth' })
})
afterAll(() => server.close())

type Listener = 'publicServer' | 'internalServer' | 'operatorServer'

/** The group under which requests to a route were counted. */
async function groupOf(route: string): Promise<string | undefined> {
  const { body } = await server.operatorServer.inject('/metrics')
  const count = new RegExp(
    `^valetkey_http_request_duration_seconds_count\\{.*route_group="([a-z_]+)",route="${route}".*`,
    'm'
  )
  return count.exec(body)?.[1]
}

test.each<[string, Listener, 'GET' | 'POST', string]>([
  ['sign_in', 'publicServer', 'GET', '/auth/oauth/authorize'],
  ['sign_in', 'publicServer', 'GET', '/auth/login'],
  ['sign_in', 'publicServer', 'GET', '/auth/consent'],
  ['sign_in', 'publicServer', 'POST', '/auth/logout'],
  ['sign_in', 'publicServer', 'GET', '/auth/account/apps'],
  ['token', 'publicServer', 'POST', '/auth/token'],
  ['token', 'publicServer', 'POST', '/auth/oauth/revoke'],
  ['static', 'publicServer', 'GET', '/.well-known/oauth-authorization-server/auth'],
  ['introspection', 'internalServer', 'POST', '/introspect'],
  ['introspection', 'internalServer', 'POST', '/introspections'],
  ['feed', 'internalServer', 'POST', '/revocations'],
  ['admin', 'operatorServer', 'GET', '/admin/users'],
  ['health', 'operatorServer', 'GET', '/readyz'],
  ['unknown', 'publicServer', 'GET', 'unknown']
])('%s: %s %s %s', async (group, listener, method, route) => {
  await server[listener].inject({ method, url: route === 'unknown' ? '/nowhere' : route })
  expect(await groupOf(route)).toBe(group)
})
