import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { kindOf } from '../../support/codes.js'
import { type StartedChannel, startChannel } from '../../support/event-stream.js'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { bodyCredentials, post } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { collectLog } from '../../support/log-lines.js'

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
  network = await startFailingNetwork(Number(new URL(server.config.databaseUrl).port))
  client = await server.createClient()
  // Only the LISTEN connection goes over the network that fails.
  instance = await startInstance(server, {
    config: { databaseUrl: atPort(server.config.databaseUrl, network.port) },
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

const PROVEN = '400 invalid_request'
const REFUSED = '401 invalid_client'

describe('memory answers only while it is proved that changes are heard', () => {
  test('a connection that falls silent: a client that is disabled is refused a second later at most', async () => {
    expect([await answer(), looks()]).toEqual([PROVEN, []])
    network.freeze()
    await disable()
    const disabledAt = performance.now()
    // Nothing has come of it, and the last pulse still vouches for what was there.
    expect([await answer(), looks()]).toEqual([PROVEN, []])
    await sleep(PROOF_MS - (performance.now() - disabledAt))
    expect([await answer(), looks()]).toEqual([REFUSED, ['find_client_with_secrets']])
  })

  test('a connection that ends: refused at the next request, before it listens again and after', async () => {
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

  test('a load that fails: each client is asked for, and the load is tried again', async () => {
    refusing = 'list_some_clients_with_secrets'
    await run(`update clients set name = 'Another' where client_id = $1`, [client.clientId])
    await channel.until('registry_load_failed')
    while (asked.filter((name) => name === refusing).length < 3) await sleep(5)
    expect(channel.events().filter((event) => event === 'registry_load_failed')).toHaveLength(1)
    asked = []
    expect([await answer(), asked.includes('find_client_with_secrets')]).toEqual([PROVEN, true])
    refusing = undefined
    const { find } = instance.deps.authorize.validation.clients
    for (asked = ['']; asked.length > 0; await sleep(5)) {
      asked = []
      expect(await find(client.clientId)).toMatchObject({ name: 'Another' })
    }
  })
})

test('a change that would not be announced: nothing is answered from memory until it would be', async () => {
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
  const { find } = careful.deps.authorize.validation.clients
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

test('before anything is loaded, or where nobody listens, each is asked for: one statement, known or not', async () => {
  const deaf = await startInstance(server, {
    wrap: () => ({
      ...server.database,
      query(statement) {
        asked.push(statement.name)
        return server.database.query(statement)
      }
    })
  })
  const { find } = deaf.deps.authorize.validation.clients
  expect([await find(client.clientId), await find('nobody')]).toEqual([
    expect.objectContaining({ clientId: client.clientId }),
    undefined
  ])
  expect(looks()).toEqual(['find_client', 'find_client'])
  await deaf.publicServer.close()
})
