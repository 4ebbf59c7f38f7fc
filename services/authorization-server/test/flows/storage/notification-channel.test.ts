import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type Database, type NotificationChannel, openNotificationChannel } from '@valetkey/service-kit'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { atPort, freePort, startFailingNetwork } from '../../support/failing-network.js'

let testDatabase: TestDatabase
let database: Database
let heard: string[]
let lost: string[]
let open: NotificationChannel[]

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  database = connectWithoutLimits(testDatabase.url, { connections: 2 })
})
beforeEach(() => {
  heard = []
  lost = []
  open = []
})
afterEach(() => Promise.all(open.map((channel) => channel.close())))
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

async function listen(url = testDatabase.url): Promise<NotificationChannel> {
  const channel = await openNotificationChannel(
    url,
    ['a "channel"', 'a second'],
    (payload, name) => heard.push(name === 'a second' ? `second: ${payload}` : payload),
    (error) => lost.push(error.message)
  )
  open.push(channel)
  return channel
}

const run = (text: string, values: unknown[] = []) => database.query<{ pid: number }>({ name: '', text, values })

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

test('receives notifications of all processes in order of their commits, and none of other channels', async () => {
  const channel = await listen()
  await channel.notify('one')
  await run('select pg_notify($1, $2)', ['a "channel"', 'two'])
  await run('select pg_notify($1, $2)', ['another', 'not for us'])
  await channel.notify('three')
  await until(() => heard.length === 3)
  expect(heard).toEqual(['one', 'two', 'three'])
})

test('two channels: each payload has the name of its channel, in order of the commits of both', async () => {
  const channel = await listen()
  for (const number of [1, 3, 5]) {
    await channel.notify(String(number))
    await run('select pg_notify($1, $2)', ['a second', String(number + 1)])
  }
  await until(() => heard.length === 6)
  expect(heard).toEqual(['1', 'second: 2', '3', 'second: 4', '5', 'second: 6'])
})

test('100 concurrent notifications arrive in order and share commits', async () => {
  const channel = await listen()
  const payloads = Array.from({ length: 100 }, (_, index) => `payload ${index}`)
  await Promise.all(payloads.map((payload) => channel.notify(payload)))
  await until(() => heard.length === 100)
  expect(heard).toEqual(payloads)
})

test('a notification that Postgres refuses fails alone', async () => {
  const channel = await listen()
  await expect(channel.notify('x'.repeat(8_000))).rejects.toThrow('payload string too long')
  await channel.notify('next')
  await until(() => heard.length === 1)
  expect(lost).toEqual([])
})

describe('the end of the LISTEN connection', () => {
  test('is reported once, and a notification in progress fails', async () => {
    const channel = await listen()
    const [row] = await run(
      "select pid from pg_stat_activity where datname = current_database() and query like 'listen %'"
    )
    await run('select pg_terminate_backend($1)', [row?.pid])
    await until(() => lost.length > 0)
    await expect(channel.notify('too late')).rejects.toThrow()
    await channel.close()
    expect(lost).toHaveLength(1)
  })

  test('is not reported after close, and no more notifications are received', async () => {
    const channel = await listen()
    await channel.close()
    await run('select pg_notify($1, $2)', ['a "channel"', 'too late'])
    expect([heard, lost]).toEqual([[], []])
  })

  test('is reported soon if the server does not respond any more', async () => {
    const network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
    const channel = await listen(atPort(testDatabase.url, network.port))
    network.freeze()
    const startedAt = performance.now()
    await channel.close()
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await network.close()
  })
})

describe('a failed start of the LISTEN connection is an error', () => {
  test('no server at the address', async () => {
    await expect(listen(atPort(testDatabase.url, await freePort()))).rejects.toThrow()
  })

  test('a server that does not respond', async () => {
    const network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
    network.freeze()
    await expect(listen(atPort(testDatabase.url, network.port))).rejects.toThrow()
    await network.close()
  })

  test('a missing database', async () => {
    await expect(listen(testDatabase.url.replace(/[^/]+$/, 'no_such_database'))).rejects.toThrow('does not exist')
  })

  test('a pooler, which returns an invented process id', async () => {
    const pooler = createServer((client) => {
      const upstream = connect(Number(new URL(testDatabase.url).port), '127.0.0.1')
      client.on('error', () => upstream.destroy()).pipe(upstream)
      upstream.on('error', () => client.destroy()).on('data', (chunk) => client.write(withAnotherProcessId(chunk)))
      upstream.on('end', () => client.end())
    })
    await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve))
    const address = pooler.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    await expect(listen(atPort(testDatabase.url, port))).rejects.toThrow('a pooler is in front of Postgres')
    pooler.close()
  })
})

/** BackendKeyData: a K, the length 12, the process id, the key. */
function withAnotherProcessId(chunk: Buffer): Buffer {
  const at = chunk.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
  if (at >= 0) chunk.writeInt32BE(1, at + 5)
  return chunk
}
