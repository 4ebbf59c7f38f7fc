import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters, countCounters } from '../../support/counters.js'
import { freePort } from '../../support/failing-network.js'
import { basic } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'

const HERE = '192.0.2.1'
const ELSEWHERE = '198.51.100.1'

let server: TestServer
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())
afterEach(() => clearCounters(server))

type Call = { url?: string; credentials?: Credentials; address?: string }

async function call({ url = '/introspect', credentials, address = HERE }: Call, instance = server) {
  return instance.internalServer.inject({
    method: 'POST',
    url,
    remoteAddress: address,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...(credentials && basic(credentials)) },
    payload: 'token=x&tokens=x'
  })
}

const wrong = (clientId = resourceServer.clientId) => ({ clientId, clientSecret: 'wrong' })

const statusesOf = async (count: number, change: (index: number) => Call) =>
  (await Promise.all(Array.from({ length: count }, (_, index) => call(change(index))))).map(
    ({ statusCode }) => statusCode
  )

test('100 failed credentials a minute from an address, at all three endpoints together; then 429 (contract "Limits")', async () => {
  const urls = ['/introspect', '/introspections', '/revocations']
  const statuses = await statusesOf(103, (index) => ({
    url: urls[index % 3] ?? '',
    credentials: wrong(`made_up_${index}`)
  }))
  expect(statuses.filter((status) => status === 401)).toHaveLength(100)
  expect(statuses.filter((status) => status === 429)).toHaveLength(3)
  const refused = await call({ credentials: wrong() })
  expect([refused.statusCode, refused.json().error]).toEqual([429, 'temporarily_unavailable'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
  expect((await call({})).statusCode).toBe(429)
  // One small counter for all invented ids.
  expect(await countCounters(server)).toBe(1)
  // Correct credentials pass, and failures of other addresses do not count here.
  expect((await call({ credentials: resourceServer })).statusCode).toBe(200)
  expect((await call({ credentials: wrong(), address: ELSEWHERE })).statusCode).toBe(401)
})

test('correct credentials need no Redis; without Redis a failure gets 503', async () => {
  const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const instance = await startInstance(server, { redis: nowhere })
  expect((await call({ credentials: resourceServer }, instance)).statusCode).toBe(200)
  const uncounted = await call({ credentials: wrong() }, instance)
  expect([uncounted.statusCode, uncounted.json().error]).toEqual([503, 'temporarily_unavailable'])
  await instance.close()
  nowhere.disconnect()
})
