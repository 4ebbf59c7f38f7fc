import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { expiryBucket, hashToken } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { buildApp } from '../../../src/app.js'
import { createResourceServerStore } from '../../../src/storage/postgres/resource-servers.js'
import { NOTE } from '../../support/audit-note.js'
import {
  AUDIENCE,
  type Credentials,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import { stopMonotonicClock } from '../../support/clock.js'
import {
  epochOf,
  type StartedChannel,
  type Subscription,
  sendNonce,
  startChannel,
  subscribe
} from '../../support/event-stream.js'
import { type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { grantFor } from '../../support/feed-grants.js'
import { listeningAt, listenUrlOf, startInstance } from '../../support/instance.js'
import { collectLog } from '../../support/log-lines.js'

const NONCE = 'a-nonce-of-a-guard'

let server: TestServer
let open: Subscription[] = []

beforeAll(async () => {
  server = await startTestServer()
})
afterEach(() => {
  for (const { request } of open) request.destroy()
  open = []
  jest.restoreAllMocks()
})
afterAll(() => server.close())

const run = (text: string, values: unknown[] = []) => server.database.query({ name: '', text, values })

/** Waits until the processes send a proof for a nonce, and lets them do so for the rest of the test. */
async function untilVerified(instances: TestServer[]): Promise<void> {
  stopMonotonicClock()
  await until(async () => instances.every(({ deps }) => deps.channel.state().isVerified))
}

describe('credentials', () => {
  let instances: TestServer[]
  let deleted: Credentials
  let kept: Credentials
  /** What happens to the reading of all credentials. */
  let onList: (list: () => Promise<unknown[]>) => Promise<unknown[]> = (list) => list()

  beforeAll(async () => {
    const wrap = (database: Database): Database => ({
      ...database,
      query: (statement) =>
        (statement.name === 'list_resource_servers'
          ? onList(() => database.query(statement))
          : database.query(statement)) as never
    })
    instances = [await startInstance(server, { wrap }), await startInstance(server, { wrap })]
    await Promise.all(instances.map(startChannel))
  })
  beforeEach(async () => {
    deleted = await server.createResourceServer()
    kept = await server.createResourceServer()
    for (const { deps } of instances) {
      for (const { clientId } of [deleted, kept]) {
        await until(async () => (await deps.feed.resourceServers.findWithSecret(clientId)) !== undefined)
      }
    }
  })
  afterEach(() => {
    onList = (list) => list()
  })
  afterAll(async () => {
    for (const instance of instances) {
      await instance.deps.channel.close()
      await instance.close()
    }
  })

  const remove = () => createResourceServerStore(server.database).remove(deleted.clientId, NOTE)

  /** One stream at each process. */
  async function openStreams(by: Credentials) {
    return Promise.all(
      instances.map(async (instance) => {
        const stream = await subscribe(instance, by)
        open.push(stream)
        expect(stream.status).toBe(200)
        return { ...stream, instance, id: (await stream.next()).data.stream ?? '' }
      })
    )
  }

  async function expectOpen(streams: Awaited<ReturnType<typeof openStreams>>): Promise<void> {
    await untilVerified(instances)
    for (const { instance, id, next } of streams) {
      await sendNonce(instance, kept, id, NONCE)
      expect(await next()).toMatchObject({ event: 'proof', data: { nonce: NONCE } })
    }
  }

  describe('a changed credential ends its streams at every process, and no others', () => {
    test.each<{ name: string; change(): Promise<unknown> }>([
      { name: 'credential deleted', change: remove },
      {
        name: 'credential with another secret',
        change: () =>
          run('update resource_servers set secret_hash = $2 where client_id = $1', [
            deleted.clientId,
            hashToken('another secret')
          ])
      },
      {
        name: 'credential with another audience',
        change: () =>
          run(
            `update resource_servers set audience = 'https://other.example', normal_audience = 'https://other.example/'
            where client_id = $1`,
            [deleted.clientId]
          )
      }
    ])('$name', async ({ change }) => {
      const streams = await openStreams(deleted)
      const others = await openStreams(kept)
      await change()
      await Promise.all(streams.map(({ ended }) => ended))
      await expectOpen(others)
    })

    test('a new name of the credential, or a new credential, ends no stream', async () => {
      const streams = await openStreams(kept)
      await run("update resource_servers set name = 'renamed' where client_id = $1", [kept.clientId])
      await server.createResourceServer()
      await expectOpen(streams)
    })
  })

  test('all streams end if the credentials cannot be read', async () => {
    const streams = await openStreams(kept)
    onList = () => Promise.reject(new Error('by the test'))
    await remove()
    await Promise.all(streams.map(({ ended }) => ended))
  })

  test('a credential deleted between its authentication and its stream gets no lasting stream', async () => {
    const [instance] = instances as [TestServer]
    let letIn = () => {}
    const gate = new Promise<void>((resolve) => (letIn = resolve))
    const { findWithSecret } = instance.deps.feed.resourceServers
    let noteFound = () => {}
    const isFound = new Promise<void>((resolve) => (noteFound = resolve))
    const resourceServers = {
      async findWithSecret(clientId: string) {
        const found = await findWithSecret(clientId)
        noteFound()
        await gate
        return found
      }
    }
    const deps = { ...instance.deps, feed: { ...instance.deps.feed, resourceServers } }
    const app = buildApp({ ...instance.config, logger: instance.publicServer.log as never }, deps)
    const pending = subscribe({ ...instance, ...app }, deleted)
    await isFound
    const others = await openStreams(deleted)
    await remove()
    // This process has received the notification.
    await others[0]?.ended
    letIn()
    await (await pending).ended
    await app.internalServer.close()
  })
})

describe('truncated tables', () => {
  let instances: TestServer[]
  let resourceServer: Credentials

  beforeAll(async () => {
    instances = [await startInstance(server), await startInstance(server)]
    resourceServer = await server.createResourceServer()
    await Promise.all(instances.map(startChannel))
  })
  afterAll(async () => {
    await Promise.all(instances.map(({ deps }) => deps.channel.close()))
    await Promise.all(instances.map((instance) => instance.close()))
  })

  async function openStreams() {
    return Promise.all(
      instances.map(async (instance) => {
        const stream = await subscribe(instance, resourceServer)
        open.push(stream)
        return { ...stream, id: (await stream.next()).data.stream ?? '' }
      })
    )
  }

  describe('truncating a table ends every stream of every process', () => {
    test.each(['users cascade', 'clients cascade', 'grants', 'refresh_tokens', 'access_tokens'])(
      'truncate %s',
      async (what) => {
        await grantFor(server.database, AUDIENCE)
        const streams = await openStreams()
        await run(`truncate ${what}`)
        await Promise.all(streams.map(({ ended }) => ended))
        // No process refuses new ones.
        await openStreams()
      }
    )

    test('truncate the table of one hour', async () => {
      const bucket = expiryBucket(new Date(Date.now() + 90 * 3_600_000))
      await run('select make_access_token_buckets($1, $1)', [bucket])
      const streams = await openStreams()
      await run(`truncate access_tokens_${bucket}`)
      await Promise.all(streams.map(({ ended }) => ended))
    })

    test('a rolled-back truncate and the drop of an expired hourly table end no stream', async () => {
      const over = expiryBucket(new Date(Date.now() - 3 * 3_600_000))
      await run('select make_access_token_buckets($1, $1)', [over])
      const streams = await openStreams()
      await run(
        'do $$ begin truncate grants; raise exception $m$undone$m$; exception when raise_exception then null; end $$'
      )
      await server.deps.buckets.keep(3_600)
      await untilVerified(instances)
      expect(await run(`select to_regclass('access_tokens_${over}') as found`)).toEqual([{ found: null }])
      for (const [index, { id, next }] of streams.entries()) {
        await sendNonce(instances[index] as TestServer, resourceServer, id, NONCE)
        expect(await next()).toMatchObject({ event: 'proof' })
      }
    })
  })

  test('truncating clears the registry', async () => {
    const { clientId } = await server.createClient()
    await run('truncate users, clients cascade')
    for (const { deps } of instances) {
      await until(async () => (await deps.authorize.clients.find(clientId)) === undefined)
    }
  })
})

describe('lost sessions', () => {
  let resourceServer: Credentials
  let network: FailingNetwork
  let instance: TestServer
  let channel: StartedChannel

  beforeAll(async () => {
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
    await untilVerified([instance])
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
})
