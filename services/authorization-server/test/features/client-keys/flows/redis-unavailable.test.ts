import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { freePort } from '../../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { connectRedis, type Redis } from '../../../../src/storage/redis/redis.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { exchange, obtainCode, PASSWORD, post, refresh } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { pairOf } from '../../../support/tokens.js'
import { assertionForm, createClientWithKeys, createSigningKey } from '../support/assertions.js'

let server: TestServer
let broken: TestServer
let noRedis: Redis

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  noRedis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  broken = await startInstance(server, { redis: noRedis })
})
afterAll(async () => {
  await broken.close()
  noRedis.disconnect()
  await server.close()
})

test('without Redis, a refresh with an assertion gets 503 and keeps its token; without assertions it works', async () => {
  const key = await createSigningKey()
  const withKey = await createClientWithKeys(server, key)
  const withSecret = await server.createClient()
  const code = await obtainCode(server, withKey)
  const exchanged = await exchange(server, withSecret, await obtainCode(server, withSecret))
  const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example/callback' }
  const issued = await post(server, '/token', { ...form, ...(await assertionForm(key, withKey.clientId)) })

  const refreshing = { grant_type: 'refresh_token', refresh_token: pairOf(issued).refresh_token }
  const credentials = await assertionForm(key, withKey.clientId)
  const unavailable = await post(broken, '/token', { ...refreshing, ...credentials })
  expect(unavailable.statusCode).toBe(503)
  expect(unavailable.headers).toHaveProperty('retry-after')
  expect(unavailable.json()).toMatchObject({ error: 'temporarily_unavailable' })
  expect((await refresh(broken, withSecret, pairOf(exchanged).refresh_token)).statusCode).toBe(200)
  // The jti was not used up.
  expect((await post(server, '/token', { ...refreshing, ...credentials })).statusCode).toBe(200)
})
