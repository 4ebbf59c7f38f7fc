import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import {
  AUDIENCE,
  type Credentials,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import { type Subscription, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { grantFor } from '../../support/feed-grants.js'
import { startInstance } from '../../support/instance.js'

const NONCE = 'a-nonce-of-a-guard'

let instances: TestServer[]
let server: TestServer
let resourceServer: Credentials
let open: Subscription[] = []

beforeAll(async () => {
  server = await startTestServer()
  instances = [server, await startInstance(server)]
  resourceServer = await server.createResourceServer()
  await Promise.all(instances.map(startChannel))
})
afterEach(() => {
  for (const { request } of open) request.destroy()
  open = []
})
afterAll(async () => {
  await Promise.all(instances.map(({ deps }) => deps.channel.close()))
  await instances[1]?.close()
  await server.close()
})

const run = (text: string, values: unknown[] = []) => server.database.query({ name: '', text, values })

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
      // And no process refuses new ones.
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
    await until(async () => (await deps.authorize.validation.clients.find(clientId)) === undefined)
  }
})
