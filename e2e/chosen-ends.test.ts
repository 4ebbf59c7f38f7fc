import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { bearerPlugin } from '@valetkey/guard/fastify'
import { type FastifyInstance, fastify } from 'fastify'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../services/authorization-server/test/support/authorization-server.js'
import { Browser } from '../services/authorization-server/test/support/browser.js'
import {
  authorizeUrl,
  exchange,
  PASSWORD,
  refresh,
  responseParameters
} from '../services/authorization-server/test/support/flow.js'
import { startInstance } from '../services/authorization-server/test/support/instance.js'
import { introspectionOf, pairOf } from '../services/authorization-server/test/support/tokens.js'

const SECONDS = 10
/** Times of tokens have whole seconds (RFC 7662 §2.2), rounded down. */
const ROUNDED_MS = 1_000

let server: TestServer
let replicas: readonly [TestServer, TestServer]
let guards: readonly FastifyInstance[]
let client: Credentials
let api: Credentials

beforeAll(async () => {
  server = await startTestServer()
  const config = { accessChoices: { choices: [{ value: 'soon', seconds: SECONDS }], preselected: undefined } }
  replicas = [await startInstance(server, { config }), await startInstance(server, { config })]
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  api = await server.createResourceServer()
  guards = await Promise.all(replicas.map((replica) => startGuard(replica, api)))
})
afterAll(async () => {
  for (const guard of guards ?? []) await guard.close()
  for (const replica of replicas ?? []) await replica.close()
  await server?.close()
})

/** An API that keeps results for a minute, without the feed: only `exp` can end them. */
async function startGuard(replica: TestServer, { clientId, clientSecret }: Credentials): Promise<FastifyInstance> {
  const url = await replica.internalServer.listen({ host: '127.0.0.1', port: 0 })
  const app = fastify()
  await app.register(bearerPlugin, {
    issuer: ISSUER,
    resource: AUDIENCE,
    scopesSupported: ['files.read'],
    introspection: { url: `${url}/introspect`, clientId, clientSecret, cache: { seconds: 60 } }
  })
  app.get('/files', { onRequest: app.requireAccessToken('files.read') }, async () => ({ files: [] }))
  return app
}

/** @returns the code, and when Allow was sent and answered */
async function allow(replica: TestServer) {
  const browser = new Browser(replica.publicServer, ISSUER)
  const signIn = await browser.open(authorizeUrl(client.clientId))
  const page = await browser.submit(signIn, { username: 'alice', password: PASSWORD })
  const sentAt = Date.now()
  const answer = await browser.submitOnly(page, { decision: 'allow', access_ends: 'soon' })
  return { code: responseParameters(answer).code ?? '', sentAt, answeredAt: Date.now() }
}

test('the end that the user chose holds to the second at two replicas and in the cache of guards, and the client reads it', async () => {
  const { code, sentAt, answeredAt } = await allow(replicas[0])
  const tokens = pairOf(await exchange(replicas[1], client, code))
  const introspected = await introspectionOf(replicas[0], api, tokens.access_token)
  const exp = introspected.active ? introspected.exp : 0
  const earliest = sentAt + SECONDS * 1000
  const latest = answeredAt + SECONDS * 1000
  expect(exp * 1000).toBeGreaterThanOrEqual(earliest - ROUNDED_MS)
  expect(exp * 1000).toBeLessThanOrEqual(latest)
  for (const told of [tokens.expires_in, tokens.authorization_expires_in, tokens.refresh_token_timeout])
    expect(told).toBeLessThanOrEqual(SECONDS)

  const seen = await Promise.all(guards.map((guard) => watch(guard, tokens.access_token)))
  for (const { lastAccepted, firstRefused } of seen) {
    expect(lastAccepted).toBeLessThanOrEqual(latest)
    expect(firstRefused).toBeGreaterThanOrEqual(earliest - ROUNDED_MS)
  }
  while (Date.now() <= latest) await wait(20)
  for (const replica of replicas) {
    const late = await refresh(replica, client, tokens.refresh_token)
    expect([late.statusCode, late.json().error]).toEqual([400, 'invalid_grant'])
  }
})

/** Calls the API until it refuses. @returns when the last accepted request was sent, and the first refusal arrived */
async function watch(guard: FastifyInstance, token: string) {
  let lastAccepted = 0
  for (;;) {
    const askedAt = Date.now()
    const { statusCode } = await guard.inject({ url: '/files', headers: { authorization: `Bearer ${token}` } })
    if (statusCode !== 200) return { lastAccepted, firstRefused: Date.now(), statusCode }
    lastAccepted = askedAt
    await wait(5)
  }
}
