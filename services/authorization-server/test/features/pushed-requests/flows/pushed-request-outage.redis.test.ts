import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { connectRedis, type Redis } from '../../../../src/storage/redis/redis.js'
import {
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { browserAt } from '../../../support/endings.js'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../../support/failing-network.js'
import { exchange, PASSWORD, responseParameters } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { signedInBrowser } from '../../../support/pages.js'
import { type PostgresProxy, startPostgresProxy } from '../../../support/postgres-proxy.js'
import { expectOutage } from '../../../support/refusals.js'
import { push, pushedAddress } from '../support/pushed-requests.js'

const ALLOW = { decision: 'allow' }
const NO_CODES = { username: 'no-codes', password: 'a password for this test' }

let server: TestServer
/** Reaches Redis over a connection that breaks on demand. */
let shaky: TestServer
let proxy: PostgresProxy
/** Reaches Redis over a network that holds everything back on demand. */
let slow: TestServer
let network: FailingNetwork
/** Its Redis user may not write codes. */
let withoutCodes: TestServer
const connections: Redis[] = []
let client: Credentials
let remembering: Credentials

async function instanceAt(redisUrl: string): Promise<TestServer> {
  const redis = connectRedis(redisUrl)
  connections.push(redis)
  return startInstance(server, { redis })
}

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  remembering = await server.createClient({ consent: 'remember' })
  const { redisUrl } = server.config
  proxy = await startPostgresProxy(redisUrl)
  network = await startFailingNetwork(Number(new URL(redisUrl).port))
  shaky = await instanceAt(proxy.url)
  slow = await instanceAt(atPort(redisUrl, network.port))
  const keys = ['par', 'requests', 'decision', 'attempts'].map((kind) => `~vk:${kind}:*`)
  await server.redis.call('ACL', 'SETUSER', NO_CODES.username, 'on', `>${NO_CODES.password}`, ...keys, '+@all')
  withoutCodes = await instanceAt(Object.assign(new URL(redisUrl), NO_CODES).href)
})
afterEach(() => network.release())
afterAll(async () => {
  for (const redis of connections) redis.disconnect()
  for (const instance of [shaky, slow, withoutCodes]) await instance?.close()
  for (const each of [proxy, network]) await each?.close()
  await server.redis.call('ACL', 'DELUSER', NO_CODES.username)
  await server.close()
})

const isRedirect = ({ headers }: Page) => headers.location?.startsWith(`${REDIRECT_URI}?code=`) === true

async function expectCode(page: Page): Promise<void> {
  expect(isRedirect(page)).toBe(true)
  expect((await exchange(server, client, responseParameters(page).code ?? '')).statusCode).toBe(200)
}

describe('Redis does not respond', () => {
  test('a push gets 503, and the next one works', async () => {
    network.hold()
    expectOutage(await push(slow, client))
    network.release()
    expect((await push(slow, client)).statusCode).toBe(201)
  })

  test('the page of a pushed request is 503, and the request goes on afterwards', async () => {
    const address = await pushedAddress(server, client)
    const browser = await signedInBrowser(server)
    network.hold()
    const page = await browserAt(slow, browser).open(address)
    expect([page.statusCode, page.headers.location]).toEqual([503, undefined])
    network.release()
    const consent = await browserAt(slow, browser).open(address)
    await expectCode(await browser.submitOnly(consent, ALLOW))
  })

  test('an Allow gets 503, and the same form works afterwards', async () => {
    const browser = await signedInBrowser(server)
    const consent = await browser.open(await pushedAddress(server, client))
    network.hold()
    expect((await browserAt(slow, browser).submitOnly(consent, ALLOW)).statusCode).toBe(503)
    network.release()
    await slow.redis.ping()
    await expectCode(await browserAt(slow, browser).submitOnly(consent, ALLOW))
  })
})

describe('the connection to Redis breaks', () => {
  test.each([
    { name: 'before a command of the request reaches Redis', lose: () => proxy.loseStatement('vk:par:') },
    { name: 'after Redis executed it, before the response', lose: () => proxy.loseAnswerTo('vk:par:') }
  ])('$name: the step works, because the command is sent again', async ({ lose }) => {
    lose()
    const address = await pushedAddress(shaky, client)
    const browser: Browser = browserAt(shaky, await signedInBrowser(server))
    lose()
    const consent = await browser.open(address)
    expect(consent.statusCode).toBe(200)
    lose()
    await expectCode(await browser.submitOnly(consent, ALLOW))
  })
})

describe('the code cannot be stored', () => {
  test('after Allow: the same form works afterwards', async () => {
    const browser = await signedInBrowser(server)
    const consent = await browser.open(await pushedAddress(server, client))
    const failed = await browserAt(withoutCodes, browser).submitOnly(consent, ALLOW)
    expect(failed.statusCode).toBeGreaterThanOrEqual(500)
    await expectCode(await browser.submitOnly(consent, ALLOW))
  })

  test('after a remembered consent: the same address works afterwards, once', async () => {
    const browser = await signedInBrowser(server)
    await browser.submitOnly(await browser.open(await pushedAddress(server, remembering)), ALLOW)
    const address = await pushedAddress(server, remembering)
    const failed = await browserAt(withoutCodes, browser).open(address)
    expect(failed.statusCode).toBeGreaterThanOrEqual(500)
    expect(isRedirect(await browser.open(address))).toBe(true)
    expect(isRedirect(await browser.open(address))).toBe(false)
  })
})
