import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { connectRedis, type Redis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { grantOf, kindOf, PKCE, recordOf, VERIFIER, withoutAnswer } from '../../support/codes.js'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { expectOutage, expectRefusal } from '../../support/refusals.js'
import { isActive, pairOf } from '../../support/tokens.js'

const ALREADY_USED = 'authorization code was already used'
/** Occurs in the command that takes a code and in the command that returns it. */
const TAKE = 'vk:code:'

let server: TestServer
/** Reaches Redis over a connection that breaks on demand. */
let shaky: TestServer
let proxy: PostgresProxy
/** Reaches Redis over a network that holds everything back on demand. */
let slow: TestServer
let network: FailingNetwork
const connections: Redis[] = []
let client: Credentials
let resourceServer: Credentials
let code: string
const right = { code_verifier: VERIFIER }

async function instanceAt(redisUrl: string): Promise<TestServer> {
  const redis = connectRedis(redisUrl)
  connections.push(redis)
  return startInstance({ ...server, redis })
}

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
  const { redisUrl } = server.config
  proxy = await startPostgresProxy(redisUrl)
  network = await startFailingNetwork(Number(new URL(redisUrl).port))
  shaky = await instanceAt(proxy.url)
  slow = await instanceAt(atPort(redisUrl, network.port))
})
beforeEach(async () => {
  code = await obtainCode(server, client, { change: PKCE })
  for (const redis of connections) await redis.ping()
})
afterEach(() => network?.release())
afterAll(async () => {
  for (const redis of connections) redis.disconnect()
  for (const instance of [shaky, slow]) await instance?.close()
  for (const each of [proxy, network]) await each?.close()
  await server.close()
})

/** These tokens live, and a replay ends them: the first exchange was taken for the first. */
async function expectFirst(answer: Awaited<ReturnType<typeof exchange>>): Promise<void> {
  const { access_token } = pairOf(answer)
  expect(await isActive(server, resourceServer, access_token)).toBe(true)
  expectRefusal(await exchange(server, client, code, right), 400, 'invalid_grant', ALREADY_USED)
  expect(await isActive(server, resourceServer, access_token)).toBe(false)
  expect(await grantOf(server, code)).toMatchObject({ accessTokens: 1, refreshTokens: 1 })
}

describe('the connection to Redis is lost while the code is taken', () => {
  test.each([
    { name: 'before the command reaches Redis', lose: () => proxy.loseStatement(TAKE) },
    { name: 'after Redis executed it, before the response', lose: () => proxy.loseAnswerTo(TAKE) }
  ])('$name: the first exchange succeeds and is not a replay', async ({ lose }) => {
    lose()
    await expectFirst(await exchange(shaky, client, code, right))
  })

  test.each([
    { name: 'a wrong verifier', change: { code_verifier: 'w'.repeat(43) } },
    { name: 'a wrong redirect URI', change: { ...right, redirect_uri: 'https://app.example/other' } }
  ])('with $name: refused, and the code stays usable', async ({ change }) => {
    proxy.loseAnswerTo(TAKE)
    const answer = await exchange(shaky, client, code, change)
    expectRefusal(answer, 400, 'invalid_grant')
    expect(answer.json().error_description).not.toBe(ALREADY_USED)
    await expectFirst(await exchange(shaky, client, code, right))
  })

  test('at a replay: still refused as a replay', async () => {
    const { access_token } = pairOf(await exchange(server, client, code, right))
    proxy.loseAnswerTo(TAKE)
    expectRefusal(await exchange(shaky, client, code, right), 400, 'invalid_grant', ALREADY_USED)
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
  })

  test('during 20 concurrent exchanges: one pair of tokens, and no 5xx', async () => {
    proxy.loseAnswerTo(TAKE)
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(shaky, client, code, right)))
    expect(answers.map(kindOf).sort()).toEqual(['200', ...Array(19).fill('400 invalid_grant')])
    expect(await grantOf(server, code)).toMatchObject({ accessTokens: 1, refreshTokens: 1 })
  })
})

describe('Redis does not respond within the time limit', () => {
  test('503, and the code works after Redis resumes, although it was taken meanwhile', async () => {
    const record = await recordOf(server, code)
    network.hold()
    expectOutage(await exchange(slow, client, code, right))
    network.release()
    // The taking and what undoes it arrive one after the other.
    await slow.redis.ping()
    expect(await recordOf(server, code)).toBe(withoutAnswer(record))
    await expectFirst(await exchange(slow, client, code, right))
  })

  test('a late response does not undo a later exchange by another process', async () => {
    network.hold()
    expectOutage(await exchange(slow, client, code, right))
    const { access_token } = pairOf(await exchange(server, client, code, right))
    network.release()
    await slow.redis.ping()
    expect(await isActive(server, resourceServer, access_token)).toBe(true)
    expectRefusal(await exchange(slow, client, code, right), 400, 'invalid_grant', ALREADY_USED)
  })
})

test('a Redis that refuses every command: 503, and the code works with another Redis', async () => {
  const withoutPassword = new URL(server.config.redisUrl)
  withoutPassword.password = ''
  const refused = await instanceAt(withoutPassword.href)
  connections.pop()
  expectOutage(await exchange(refused, client, code, right))
  refused.redis.disconnect()
  await refused.close()
  await expectFirst(await exchange(server, client, code, right))
})
