import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { connectRedis, type Redis } from '../../../src/storage/redis/redis.js'

/** The first word of a command in RESP is its name. */
const COMMAND = /\*\d+\r\n\$\d+\r\n(\w+)\r\n/g

const received: string[] = []
const server = createServer((socket) => {
  socket.on('data', (data) => {
    const names = [...data.toString('latin1').matchAll(COMMAND)].map(([, name = '']) => name.toLowerCase())
    received.push(...names)
    socket.write(names.map((name) => (name === 'info' ? '$0\r\n\r\n' : '+OK\r\n')).join(''))
  })
})
let redis: Redis

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no address')
  redis = connectRedis(`redis://127.0.0.1:${address.port}`)
  await new Promise<void>((resolve) => redis.once('ready', resolve))
})

afterAll(async () => {
  redis.disconnect()
  await new Promise((resolve) => server.close(resolve))
})

test('Redis: the commands of one turn of the event loop are one write', async () => {
  const { stream } = redis as unknown as { stream: Socket }
  // Node calls one of them for each write: `_writev` for several chunks.
  const single = jest.spyOn(stream, '_write')
  const several = jest.spyOn(stream, '_writev' as '_write')
  await Promise.all(Array.from({ length: 32 }, (_, number) => redis.set(`vk:${number}`, 'x')))
  expect([single.mock.calls.length, several.mock.calls.length]).toEqual([0, 1])
  await redis.set('vk:alone', 'x')
  expect(single.mock.calls.length + several.mock.calls.length).toBe(2)
})

test('Redis: a command after which the client disconnects is still sent', async () => {
  received.length = 0
  const last = redis.set('vk:last', 'x').catch(() => 'unanswered')
  const quit = redis.quit()
  expect([await last, await quit]).toEqual(['OK', 'OK'])
  expect(received).toEqual(['set', 'quit'])
})
