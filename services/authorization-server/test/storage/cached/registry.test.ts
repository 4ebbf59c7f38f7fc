import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { digestToken } from '@valetkey/oauth-protocol'
import { createScopeStore } from '../../../src/storage/postgres/scopes.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
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
/** Statements of the second instance, but those that are written in the background. */
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

const run = (text: string, values: unknown[] = []) =>
  server.database.query({ name: '', text, values, withinMs: 60_000 })

/** Until a look-up at the second instance costs no statement. */
async function inMemory(lookUp: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    asked = []
    await lookUp()
    return asked.length === 0
  })
}

const found = (instance: TestServer) => instance.deps.authorize.validation.clients.find(client.clientId)

/** Until every instance has heard of it: some milliseconds. */
async function everywhere(isSo: (instance: TestServer) => Promise<boolean>): Promise<void> {
  for (const instance of instances) await until(() => isSo(instance))
}

/** What a client that shows these credentials hears; 400 is for the code that it has not. */
const tryAt = async (instance: TestServer, shown: Credentials = client) =>
  kindOf(await post(instance, '/token', { grant_type: 'authorization_code', ...bodyCredentials(shown) }))

// A machine with other things to do may be late with what was decided in time.
const PROOF_SLACK_MS = 2_000

const PROVEN = '400 invalid_request'
const REFUSED = '401 invalid_client'

describe('nothing is asked of Postgres', () => {
  test.each<{ name: string; shown(): Credentials; answer: string }>([
    { name: 'a client that proves itself', shown: () => client, answer: PROVEN },
    { name: 'a wrong secret', shown: () => ({ ...client, clientSecret: 'wrong' }), answer: REFUSED },
    { name: 'an unknown client', shown: () => ({ ...client, clientId: 'nobody' }), answer: REFUSED }
  ])('for $name', async ({ shown, answer }) => {
    expect(await tryAt(second, shown())).toBe(answer)
    expect(asked.filter((name) => !/^(append_audit_events|note_\w+_use)$/.test(name))).toEqual([])
  })

  test('for the exchange of a code, but to redeem it', async () => {
    const code = await obtainCode(server, client)
    asked = []
    expect(kindOf(await exchange(second, client, code))).toBe('200')
    expect(asked.filter((name) => !name.includes('audit'))).toEqual([expect.stringMatching(/redeem|exchange/)])
  })

  test('for the catalogue of scopes, for an audience, and for who introspects: only for the token', async () => {
    const files = await server.createResourceServer()
    await everywhere(async ({ deps }) => (await deps.feed.resourceServers.findWithSecret(files.clientId)) !== undefined)
    const { access_token } = await obtainTokens(server, client)
    await inMemory(() => second.deps.feed.resourceServers.findWithSecret(files.clientId))
    expect(await second.deps.scopes.list()).toEqual(await createScopeStore(server.database).list())
    expect(await second.deps.authorize.validation.resourceServers.knowsAudience('https://nobody.example')).toBe(false)
    expect(await isActive(second, files, access_token)).toBe(true)
    expect((await introspect(second, { ...files, clientSecret: 'wrong' }, access_token)).statusCode).toBe(401)
    const looks = asked.filter((name) => name.startsWith('find_') || name.startsWith('list_'))
    expect(looks).toEqual([expect.stringMatching(/^find_for_introspection/)])
  })
})

describe('a change is heard by every instance', () => {
  test('a client that is disabled is refused, as a rule within 100 ms', async () => {
    const lags = []
    for (let round = 0; round < 20; round++) {
      if (round > 0) client = await server.createClient()
      await everywhere(async (instance) => (await tryAt(instance)) === PROVEN)
      await run('update clients set disabled_at = now() where client_id = $1', [client.clientId])
      const committedAt = performance.now()
      await everywhere(async (instance) => (await tryAt(instance)) === REFUSED)
      lags.push(performance.now() - committedAt)
    }
    expect(lags.toSorted((a, b) => a - b)[10]).toBeLessThan(100)
    expect(Math.max(...lags)).toBeLessThan(1_000 + PROOF_SLACK_MS)
    // Known again, as one that is disabled: it costs no statement.
    await inMemory(() => found(second))
  })

  test('a client that is deleted is unknown', async () => {
    await run('delete from clients where client_id = $1', [client.clientId])
    await everywhere(async (instance) => (await found(instance)) === undefined)
    for (const instance of instances) expect(await tryAt(instance)).toBe(REFUSED)
  })

  test('a second secret proves the client beside the first, which ends when it is said to', async () => {
    const rotated = { ...client, clientSecret: 'a new secret' }
    const end = new Date(Date.now() + 60_000)
    const digest = digestToken(rotated.clientSecret)
    await run('insert into client_secrets values ($1, $2, now(), null)', [client.clientId, digest])
    await run('update client_secrets set expires_at = $2 where client_id = $1 and secret_hash <> $3', [
      client.clientId,
      end,
      digest
    ])
    const countAt = async ({ deps }: TestServer, now: Date) =>
      (await deps.token.authentication.clients.findWithSecrets(client.clientId, now))?.secretHashes.length
    const before = new Date(end.getTime() - 1)
    // Both changes have been heard. None comes at the end itself: the clock is looked at.
    await everywhere(
      async (instance) => (await countAt(instance, before)) === 2 && (await countAt(instance, end)) === 1
    )
    for (const instance of instances) {
      for (const shown of [client, rotated]) expect(await tryAt(instance, shown)).toBe(PROVEN)
    }
  })

  test('a new title of a scope is on the next consent page', async () => {
    await run(`update scopes set title = 'Look at the list' where name = 'files.read'`)
    const title = async ({ deps }: TestServer) =>
      (await deps.scopes.list()).find(({ name }) => name === 'files.read')?.title
    await everywhere(async (instance) => (await title(instance)) === 'Look at the list')
    const { page } = await openConsent(second, client.clientId)
    expect(page.body).toContain('Look at the list')
  })

  test('a resource server that is deleted is refused, and its audience unknown', async () => {
    const audience = 'https://reports.example'
    const reports = await server.createResourceServer(audience)
    const knows = ({ deps }: TestServer) => deps.authorize.validation.resourceServers.knowsAudience(audience)
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

  test('ten thousand clients that come in one transaction are all known', async () => {
    await run(`insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at)
      select 'many_' || n, 'App', 'public', '{}', '{}', '{}', true, true, 'ask', now()
      from generate_series(1, 10000) as n`)
    const { find } = second.deps.authorize.validation.clients
    await until(async () => (await find('many_10000')) !== undefined)
    await inMemory(async () => {
      for (const number of [1, 5_000, 10_000]) expect(await find(`many_${number}`)).toMatchObject({ name: 'App' })
    })
  })

  test('what cannot be read may mean anything: everything is read again', async () => {
    await run(`alter table clients disable trigger user`)
    await run(`update clients set name = 'Another' where client_id = $1`, [client.clientId])
    await run(`alter table clients enable trigger user`)
    await run(`select pg_notify('valetkey_registry', 'of a later release')`)
    await everywhere(async (instance) => (await found(instance))?.name === 'Another')
  })
})
