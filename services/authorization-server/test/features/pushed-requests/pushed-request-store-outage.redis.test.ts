import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createTestRedis, type TestRedis } from '@valetkey/dev-stack'
import { hashToken } from '@valetkey/oauth-protocol'
import {
  createPushedRequestStore,
  type PushedRequestStore
} from '../../../src/features/pushed-requests/pushed-request-store.js'
import { connectRedis, type Redis } from '../../../src/storage/redis/redis.js'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { newRecordAuthentication } from '../../support/record-authentication.js'

const HASH = hashToken('request')
const QUERY = 'client_id=printer'

let redis: TestRedis
let network: FailingNetwork
let connection: Redis
let requests: PushedRequestStore

beforeAll(async () => {
  redis = createTestRedis()
  const url = redis.url ?? ''
  network = await startFailingNetwork(Number(new URL(url).port))
  connection = connectRedis(atPort(url, network.port))
  await connection.ping()
  requests = createPushedRequestStore(connection, newRecordAuthentication().records)
  await requests.put(HASH, QUERY, 90_000)
  await requests.open(HASH, 'browser', false)
})
afterEach(() => network.release())
afterAll(async () => {
  connection.disconnect()
  await network.close()
  await redis.close()
})

test('a decision whose command is executed too late does not keep the request', async () => {
  network.hold()
  await expect(requests.use(HASH, 'late')).rejects.toThrow()
  network.release()
  // The command and the one that undoes it arrive one after the other.
  await connection.ping()
  expect(await requests.open(HASH, 'browser', false)).toBe(QUERY)
  expect(await requests.use(HASH, 'next')).toBe(true)
})
