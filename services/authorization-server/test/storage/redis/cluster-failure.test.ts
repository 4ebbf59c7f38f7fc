import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { problemOfRedis, readRedisUrl } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { explainClusterFailure } from '../../../src/storage/redis/cluster-failure.js'

let plain: Server
let plainPort: number
const sockets = new Set<Socket>()

beforeAll(async () => {
  // Answers each message, as a server without TLS does to a TLS handshake.
  plain = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('data', () => socket.end('-ERR Protocol error\r\n'))
  })
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  plainPort = Object(plain.address()).port
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => plain.close(resolve))
})

const closed = () =>
  Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: new Error('Connection is closed.') })

const explain = (error: unknown, url: string) => explainClusterFailure(error, readRedisUrl(url), undefined)

describe('the failure of a Redis Cluster', () => {
  test('is returned unchanged if a node replied', async () => {
    const error = Object.assign(new Error('no'), { lastNodeError: new Error('WRONGPASS') })
    expect(await explain(error, `redis+cluster://127.0.0.1:${await freePort()}`)).toBe(error)
  })

  test('is returned unchanged if it is of one server', async () => {
    const error = new Error('Connection is closed.')
    expect(await explain(error, `redis://127.0.0.1:${await freePort()}`)).toBe(error)
  })

  test('is returned unchanged if a host accepts the connection', async () => {
    const error = closed()
    expect(await explain(error, `redis+cluster://127.0.0.1:${plainPort}`)).toBe(error)
  })

  test('is the error of the connection if no host accepts one', async () => {
    const url = `redis+cluster://127.0.0.1:${await freePort()}`
    expect(await explain(closed(), url)).toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('is that of TLS if one host has no TLS and another one is down', async () => {
    const failure = await explain(closed(), `rediss+cluster://127.0.0.1:${await freePort()},127.0.0.1:${plainPort}`)
    expect(problemOfRedis(failure)).toMatchObject({ reason: expect.stringMatching(/^TLS fails/), isSetting: true })
  })
})
