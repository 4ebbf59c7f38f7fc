import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { kindOf } from '../../support/codes.js'
import { type StartedChannel, startChannel } from '../../support/event-stream.js'
import { type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { bodyCredentials, post } from '../../support/flow.js'
import { listeningAt, listenUrlOf, startInstance } from '../../support/instance.js'
import { collectLog } from '../../support/log-lines.js'
import { stopMonotonicClock } from '../../support/stopped-timers.js'

const PROOF_MS = 1_000

let server: TestServer
let network: FailingNetwork
let instance: TestServer
let channel: StartedChannel
let client: Credentials
let asked: string[]
let refusing: string | undefined

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
})
beforeEach(async () => {
  asked = []
  refusing = undefined
  network = await startFailingNetwork(Number(new URL(listenUrlOf(server.config)).port))
  client = await server.createClient()
  // Only the LISTEN connection uses the failing network.
  instance = await startInstance(server, {
    config: listeningAt(server.config, network.port),
    wrap: () => ({
      ...server.database,
      async query(statement) {
        asked.push(statement.name)
        if (statement.name === refusing) throw new Error('refused by the test')
        return server.database.query(statement)
      }
    })
  })
  channel = await startChannel(instance)
  asked = []
})
afterEach(async () => {
  await instance.deps.channel.close()
  await instance.close()
  await network.close()
})
afterAll(() => server.close())

const run = (text: string, values: unknown[] = []) => server.database.query({ name: '', text, values })
const disable = () => run('update clients set disabled_at = now() where client_id = $1', [client.clientId])
const answer = async () =>
  kindOf(await post(instance, '/token', { grant_type: 'authorization_code', ...bodyCredentials(client) }))
const looks = () => asked.filter((name) => /^(find|list)_/.test(name))

const AUTHENTICATED = '400 invalid_request'
const REFUSED = '401 invalid_client'

describe('the cache is used only while the receipt of changes is verified', () => {
  test('a stalled connection: a disabled client is refused at most one second later', async () => {
    const clock = stopMonotonicClock()
    do {
      asked = []
      expect(await answer()).toBe(AUTHENTICATED)
    } while (looks().length > 0)
    network.freeze()
    await disable()
    // The change has not arrived, and the last pulse is still valid.
    expect([await answer(), looks()]).toEqual([AUTHENTICATED, []])
    clock.advance(PROOF_MS)
    expect([await answer(), looks()]).toEqual([REFUSED, ['find_client_with_secrets']])
    clock.restart()
  })

  test('a closed connection: refused at the next request, before and after it is open again', async () => {
    network.cut()
    await channel.until('revocation_channel_lost')
    await disable()
    expect([await answer(), looks()]).toEqual([REFUSED, ['find_client_with_secrets']])
    network.release()
    await channel.until('revocation_channel_ready', 2)
    await channel.until('registry_loaded', 6)
    asked = []
    expect([await answer(), looks()]).toEqual([REFUSED, []])
  })

  test('a failed load: each lookup reads Postgres, and the load is repeated', async () => {
    refusing = 'list_some_clients_with_secrets'
    await run(`update clients set name = 'Another' where client_id = $1`, [client.clientId])
    await channel.until('registry_load_failed')
    while (asked.filter((name) => name === refusing).length < 3) await sleep(5)
    expect(channel.events().filter((event) => event === 'registry_load_failed')).toHaveLength(1)
    asked = []
    expect([await answer(), asked.includes('find_client_with_secrets')]).toEqual([AUTHENTICATED, true])
    refusing = undefined
    const { find } = instance.deps.authorize.clients
    for (asked = ['']; asked.length > 0; await sleep(5)) {
      asked = []
      expect(await find(client.clientId)).toMatchObject({ name: 'Another' })
    }
  })
})

test('without triggers nothing is cached, until they are enabled again', async () => {
  await run('alter table client_secrets disable trigger announce_to_registry')
  const careful = await startInstance(server, {
    wrap: (database) => ({
      ...database,
      query(statement) {
        asked.push(statement.name)
        return database.query(statement)
      }
    })
  })
  const { lines, logger } = collectLog()
  careful.deps.channel.start(logger)
  const failures = () => lines.filter(({ event }) => event === 'registry_load_failed')
  while (failures().length < 3) await sleep(5)
  expect(JSON.stringify(failures())).toContain('triggers announce_to_registry are missing')
  const { find } = careful.deps.authorize.clients
  asked = []
  await find(client.clientId)
  expect(asked).toContain('find_client')
  await run('alter table client_secrets enable trigger announce_to_registry')
  while (lines.filter(({ event }) => event === 'registry_loaded').length < 3) await sleep(5)
  asked = []
  await find(client.clientId)
  expect(asked).toEqual([])
  await careful.deps.channel.close()
  await careful.close()
})

test('before the load, or without a LISTEN connection, each lookup is one statement, for unknown ids as well', async () => {
  const unconnected = await startInstance(server, {
    wrap: () => ({
      ...server.database,
      query(statement) {
        asked.push(statement.name)
        return server.database.query(statement)
      }
    })
  })
  const { find } = unconnected.deps.authorize.clients
  expect([await find(client.clientId), await find('unknown')]).toEqual([
    expect.objectContaining({ clientId: client.clientId }),
    undefined
  ])
  expect(looks()).toEqual(['find_client', 'find_client'])
  await unconnected.publicServer.close()
})
