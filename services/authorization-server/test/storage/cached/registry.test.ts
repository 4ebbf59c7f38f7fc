import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { createScopeStore } from '../../../src/storage/postgres/scopes.js'
import {
  AUDIENCE,
  type Credentials,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import { isBackground } from '../../support/background-statements.js'
import { kindOf } from '../../support/codes.js'
import { startChannel } from '../../support/event-stream.js'
import { basic, bodyCredentials, exchange, introspect, obtainCode, PASSWORD, post } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { openConsent } from '../../support/pages.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

let server: TestServer
let second: TestServer
let instances: readonly TestServer[]
let client: Credentials
/** Statements of the second instance. */
let asked: string[]

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  second = await startInstance(server, {
    wrap: (database) => ({
      ...database,
      query(statement) {
        asked.push(statement.name)
        return database.query(statement)
      }
    })
  })
  asked = []
  instances = [server, second]
  for (const instance of instances) await startChannel(instance)
  await server.createUser('alice', PASSWORD)
})
beforeEach(async () => {
  client = await server.createClient()
  await everywhere(async (instance) => (await found(instance)) !== undefined)
  await inMemory(() => found(second))
})
afterAll(async () => {
  for (const instance of instances) await instance.deps.channel.close()
  await second.close()
  await server.close()
})

const run = (text: string, values: unknown[] = []) => server.database.query({ name: '', text, values })

/** Waits until a lookup at the second instance costs no statement. */
async function inMemory(lookUp: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    asked = []
    await lookUp()
    return asked.length === 0
  })
}

const found = (instance: TestServer) => instance.deps.authorize.clients.find(client.clientId)

/** Waits until the condition holds at every instance. */
async function everywhere(isSo: (instance: TestServer) => Promise<boolean>): Promise<void> {
  for (const instance of instances) await until(() => isSo(instance))
}

/** Status and error for these credentials; 400 means authenticated, because the code is missing. */
const tryAt = async (instance: TestServer, shown: Credentials = client) =>
  kindOf(await post(instance, '/token', { grant_type: 'authorization_code', ...bodyCredentials(shown) }))

const AUTHENTICATED = '400 invalid_request'
const REFUSED = '401 invalid_client'

describe('no statement is sent', () => {
  test.each<{ name: string; shown(): Credentials; answer: string }>([
    { name: 'a client that authenticates', shown: () => client, answer: AUTHENTICATED },
    { name: 'a wrong secret', shown: () => ({ ...client, clientSecret: 'wrong' }), answer: REFUSED },
    { name: 'an unknown client', shown: () => ({ ...client, clientId: 'unknown' }), answer: REFUSED }
  ])('for $name', async ({ shown, answer }) => {
    expect(await tryAt(second, shown())).toBe(answer)
    expect(asked.filter((name) => !isBackground(name))).toEqual([])
  })

  test('for the exchange of a code, except the statement that redeems it', async () => {
    const code = await obtainCode(server, client)
    asked = []
    expect(kindOf(await exchange(second, client, code))).toBe('200')
    expect(asked.filter((name) => !isBackground(name))).toEqual([expect.stringMatching(/^store_exchange_in_/)])
  })

  test('for the scope catalogue, an audience, and a resource server; only for the introspected token', async () => {
    const files = await server.createResourceServer()
    await everywhere(async ({ deps }) => (await deps.feed.resourceServers.findWithSecret(files.clientId)) !== undefined)
    const { access_token } = await obtainTokens(server, client)
    await inMemory(() => second.deps.feed.resourceServers.findWithSecret(files.clientId))
    expect(await second.deps.scopes.list()).toEqual(await createScopeStore(server.database).list())
    expect(await second.deps.authorize.resourceServers.listApis()).toContainEqual({
      audience: AUDIENCE,
      title: undefined,
      titleIn: {}
    })
    expect(await isActive(second, files, access_token)).toBe(true)
    expect((await introspect(second, { ...files, clientSecret: 'wrong' }, access_token)).statusCode).toBe(401)
    const looks = asked.filter((name) => name.startsWith('find_') || name.startsWith('list_'))
    expect(looks).toEqual([expect.stringMatching(/^find_for_introspection/)])
  })
})

describe('a change takes effect at every instance', () => {
  test('a disabled client is refused, usually within 100 ms and a few requests', async () => {
    const isAnsweredWith = (expected: string) => everywhere(async (instance) => (await tryAt(instance)) === expected)
    const durationOf = async (wait: Promise<void>) => {
      const startedAt = performance.now()
      await wait
      return performance.now() - startedAt
    }
    const lags: number[] = []
    const controls: number[] = []
    for (let round = 0; round < 11; round++) {
      if (round > 0) client = await server.createClient()
      await isAnsweredWith(AUTHENTICATED)
      controls.push(await durationOf(isAnsweredWith(AUTHENTICATED)))
      await run('update clients set disabled_at = now() where client_id = $1', [client.clientId])
      lags.push(await durationOf(isAnsweredWith(REFUSED)))
    }
    const median = (values: number[]) => values.toSorted((a, b) => a - b)[5] ?? Number.NaN
    expect(median(lags)).toBeLessThan(100 + 10 * median(controls))
    // Cached again, as disabled.
    await inMemory(() => found(second))
  })

  test('a deleted client is unknown', async () => {
    await run('delete from clients where client_id = $1', [client.clientId])
    await everywhere(async (instance) => (await found(instance)) === undefined)
    for (const instance of instances) expect(await tryAt(instance)).toBe(REFUSED)
  })

  test('a second secret is accepted in addition to the first, which expires at its time', async () => {
    const rotated = { ...client, clientSecret: 'a new secret' }
    const end = new Date(Date.now() + 60_000)
    const hash = hashToken(rotated.clientSecret)
    await run('insert into client_secrets values ($1, $2, now(), null)', [client.clientId, hash])
    await run('update client_secrets set expires_at = $2 where client_id = $1 and secret_hash <> $3', [
      client.clientId,
      end,
      hash
    ])
    const countAt = async ({ deps }: TestServer, now: Date) =>
      (await deps.token.clients.findWithSecrets(client.clientId, now))?.secretHashes.length
    const before = new Date(end.getTime() - 1)
    // Both changes were received. No change announces the expiry: the clock decides.
    await everywhere(
      async (instance) => (await countAt(instance, before)) === 2 && (await countAt(instance, end)) === 1
    )
    for (const instance of instances) {
      for (const shown of [client, rotated]) expect(await tryAt(instance, shown)).toBe(AUTHENTICATED)
    }
  })

  test('the next consent page has the new title of a scope', async () => {
    await run(`update scopes set title = 'Look at the list' where name = 'files.read'`)
    const title = async ({ deps }: TestServer) =>
      (await deps.scopes.list()).find(({ name }) => name === 'files.read')?.title
    await everywhere(async (instance) => (await title(instance)) === 'Look at the list')
    const { page } = await openConsent(second, client.clientId)
    expect(page.body).toContain('Look at the list')
  })

  test('a deleted resource server is refused, and its audience is unknown', async () => {
    const audience = 'https://reports.example'
    const reports = await server.createResourceServer(audience)
    const knows = async ({ deps }: TestServer) =>
      (await deps.authorize.resourceServers.listApis()).some((api) => api.audience === audience)
    await everywhere(knows)
    await run('delete from resource_servers where client_id = $1', [reports.clientId])
    await everywhere(async (instance) => !(await knows(instance)))
    for (const instance of instances) {
      expect((await introspect(instance, reports, 'x')).statusCode).toBe(401)
      const feed = await instance.internalServer.inject({
        method: 'POST',
        url: '/revocations',
        headers: basic(reports)
      })
      expect(feed.statusCode).toBe(401)
    }
  })

  test('ten thousand clients of one transaction are all cached', async () => {
    await run(`insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at)
      select 'many_' || n, 'App', 'public', '{}', '{}', '{}', true, true, 'ask', now()
      from generate_series(1, 10000) as n`)
    const { find } = second.deps.authorize.clients
    await until(async () => (await find('many_10000')) !== undefined)
    await inMemory(async () => {
      for (const number of [1, 5_000, 10_000]) expect(await find(`many_${number}`)).toMatchObject({ name: 'App' })
    })
  })

  test('an unreadable notification causes all tables to be read again', async () => {
    await run(`alter table clients disable trigger user`)
    await run(`update clients set name = 'Another' where client_id = $1`, [client.clientId])
    await run(`alter table clients enable trigger user`)
    await run(`select pg_notify('valetkey_registry', 'of a later release')`)
    await everywhere(async (instance) => (await found(instance))?.name === 'Another')
  })
})
