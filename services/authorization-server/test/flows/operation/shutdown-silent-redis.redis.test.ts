import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.js'

let server: TestServer
let network: FailingNetwork
let service: ServiceProcess

beforeAll(async () => {
  server = await startTestServer()
  const { issuer, resourceUrl, databaseUrl, databaseDirectUrl, redisUrl } = server.config
  network = await startFailingNetwork(Number(new URL(redisUrl).port))
  service = await startServiceProcess({
    ISSUER: issuer,
    RESOURCE_URL: resourceUrl,
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: databaseDirectUrl,
    REDIS_URL: atPort(redisUrl, network.port),
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters'
  })
})
afterAll(async () => {
  service?.child.kill('SIGKILL')
  await network?.close()
  await server?.close()
})

test('SIGTERM ends the process with 0 while Redis accepts connections and does not respond', async () => {
  expect(service.errors()).toBe('')
  expect((await fetch(`http://127.0.0.1:${service.operatorPort}/readyz`)).status).toBe(200)
  network.freeze()
  service.child.kill('SIGTERM')
  // The limits of the steps end it. The limit of the whole stop would end it with another code.
  expect(await service.exited).toBe(0)
})
