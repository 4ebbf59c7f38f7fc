import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { buildApp } from '../../../src/app.js'
import { createResourceServerStore } from '../../../src/storage/postgres/resource-servers.js'
import { NOTE } from '../../support/audit-note.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { type Subscription, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { startInstance } from '../../support/instance.js'

const NONCE = 'a-nonce-of-a-guard'

let server: TestServer
let instances: TestServer[]
let deleted: Credentials
let kept: Credentials
let open: Subscription[] = []
/** What happens to the reading of all credentials. */
let onList: (list: () => Promise<unknown[]>) => Promise<unknown[]> = (list) => list()

beforeAll(async () => {
  server = await startTestServer()
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
  for (const { request } of open) request.destroy()
  open = []
})
afterAll(async () => {
  for (const instance of instances) {
    await instance.deps.channel.close()
    await instance.close()
  }
  await server.close()
})

const run = (text: string, values: unknown[] = []) => server.database.query({ name: '', text, values })
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
