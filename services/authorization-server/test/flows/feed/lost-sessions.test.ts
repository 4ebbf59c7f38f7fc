import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { epochOf, type StartedChannel, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { listeningAt, listenUrlOf, startInstance } from '../../support/instance.js'
import { collectLog } from '../../support/log-lines.js'

const NONCE = 'a-nonce-of-a-guard'

let server: TestServer
let resourceServer: Credentials
let network: FailingNetwork
let instance: TestServer
let channel: StartedChannel

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  network = await startFailingNetwork(Number(new URL(listenUrlOf(server.config)).port))
  // Only the LISTEN connection goes over the network that fails.
  instance = await startInstance(server, {
    config: listeningAt(server.config, network.port),
    wrap: () => server.database
  })
  channel = await startChannel(instance)
})
afterEach(async () => {
  await instance.deps.channel.close()
  await instance.close()
  await network.close()
})
afterAll(() => server.close())

async function killListener(): Promise<void> {
  const killed = await server.database.query({
    name: 'test_kill_listener',
    text: `select pg_terminate_backend(pid) as killed from pg_stat_activity
      where datname = current_database() and query like '%pg_notify($1, payload)%' and pid <> pg_backend_pid()`,
    values: []
  })
  expect(killed).toEqual([{ killed: true }])
}

async function openStream() {
  const stream = await subscribe(instance, resourceServer)
  return { ...stream, opened: await stream.next() }
}

async function expectRecovery(before: { opened: { id: string } }): Promise<void> {
  await channel.until('revocation_channel_ready', 2)
  const after = await openStream()
  expect(epochOf(after.opened as never)).not.toBe(epochOf(before.opened as never))
  expect(after.opened.id).toMatch(/-0$/)
  const answer = await sendNonce(instance, resourceServer, after.opened.data.stream ?? '', NONCE)
  expect(answer.statusCode).toBe(204)
  expect(await after.next()).toMatchObject({ event: 'proof', data: { nonce: NONCE } })
  expect(channel.events().filter((event) => event.startsWith('revocation_channel'))).toEqual([
    'revocation_channel_ready',
    'revocation_channel_lost',
    'revocation_channel_ready'
  ])
  after.request.destroy()
}

describe('a lost LISTEN connection', () => {
  test('ended by Postgres: every stream ends, and a new epoch begins', async () => {
    const streams = [await openStream(), await openStream()]
    await killListener()
    await Promise.all(streams.map(({ ended }) => ended))
    await expectRecovery(streams[0] as never)
  })

  test('ended by the network: every stream ends, and a new epoch begins', async () => {
    const stream = await openStream()
    network.cut()
    await stream.ended
    network.release()
    await expectRecovery(stream)
  })

  test('silent without a network error: no proof, 503 and the end of every stream', async () => {
    const stream = await openStream()
    network.freeze()
    const frozenAt = performance.now()
    const caught = sendNonce(instance, resourceServer, stream.opened.data.stream ?? '', NONCE)
    let answer = 204
    while (answer === 204) {
      await sleep(20)
      const isVerified = performance.now() - frozenAt < 1_000
      if (!isVerified) answer = (await sendNonce(instance, resourceServer, NONCE, NONCE)).statusCode
    }
    expect(answer).toBe(503)
    await stream.ended
    network.release()
    expect(stream.text()).not.toContain('proof')
    expect((await caught).statusCode).toBe(503)
    expect(channel.lines.find(({ event }) => event === 'revocation_channel_lost')).toMatchObject({
      level: 'warn',
      reason: 'no pulse received'
    })
    await expectRecovery(stream)
  })
})

describe('a Postgres that refuses LISTEN', () => {
  test('is logged once, and other endpoints work', async () => {
    let attempts = 0
    const refusing = createServer((socket) => {
      attempts += 1
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(refusing, 'listening')
    const { port } = refusing.address() as AddressInfo
    const config = listeningAt(server.config, port)
    const deaf = await startInstance(server, { config, wrap: () => server.database })
    const { logger, lines } = collectLog()
    deaf.deps.channel.start(logger)
    while (attempts < 4) await sleep(5)
    expect(lines.map(({ event, level }) => [event, level])).toEqual([['revocation_channel_lost', 'warn']])
    expect(lines[0]?.reason).toMatch(/terminated|ended|ECONNRESET/)
    expect((await deaf.operatorServer.inject('/readyz')).statusCode).toBe(200)
    expect((await sendNonce(deaf, resourceServer, NONCE, NONCE)).statusCode).toBe(503)
    await deaf.deps.channel.close()
    await deaf.close()
    refusing.close()
  })
})
