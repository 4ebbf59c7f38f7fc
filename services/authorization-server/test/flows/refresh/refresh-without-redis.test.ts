import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { connectRedis, type Redis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { bodyCredentials, introspect, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
/** An instance that never reaches Redis. */
let alone: TestServer
let nowhere: Redis
let client: Credentials
let resourceServer: Credentials
let tokens: Tokens

beforeAll(async () => {
  server = await startTestServer()
  nowhere = connectRedis('redis://127.0.0.1:1')
  alone = await startInstance(server, { redis: nowhere })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  tokens = await obtainTokens(server, client)
})
afterAll(async () => {
  await alone.close()
  nowhere.disconnect()
  await server.close()
})

const revoke = (form: Record<string, string>) => post(alone, '/oauth/revoke', { token: tokens.refresh_token, ...form })

describe('Redis is unavailable (contract 1, 3: valid credentials need no Redis command)', () => {
  test('a refresh succeeds, and so does its retry', async () => {
    const second = pairOf(await refresh(alone, client, tokens.refresh_token))
    expect(pairOf(await refresh(alone, client, tokens.refresh_token)).refresh_token).toBe(second.refresh_token)
  })

  test('introspection and revocation succeed, and the token has ended', async () => {
    expect((await introspect(alone, resourceServer, tokens.access_token)).json()).toMatchObject({ active: true })
    expect((await revoke(bodyCredentials(client))).statusCode).toBe(200)
    expect((await introspect(alone, resourceServer, tokens.access_token)).body).toBe('{"active":false}')
  })

  test.each<{ name: string; request(): ReturnType<typeof post> }>([
    {
      name: 'a refresh with a wrong secret',
      request: () => refresh(alone, client, tokens.refresh_token, { client_secret: 'wrong' })
    },
    {
      name: 'a revocation with a wrong secret',
      request: () => revoke({ ...bodyCredentials(client), client_secret: 'x' })
    }
  ])('$name cannot be counted: 503 with Retry-After, not 4xx, and the tokens stay active', async ({ request }) => {
    const answer = await request()
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect((await refresh(alone, client, tokens.refresh_token)).statusCode).toBe(200)
  })
})
