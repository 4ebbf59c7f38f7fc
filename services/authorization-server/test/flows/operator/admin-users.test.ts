import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../support/administration.js'
import { collectAuditLog, idOf } from '../../support/audit-log.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { PASSWORD } from '../../support/flow.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

const { logger, eventsOf } = collectAuditLog()
let server: TestServer
let admin: Administration
let client: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
  client = await server.createClient()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('grants', () => {
  let userId: string

  beforeAll(async () => {
    userId = await server.createUser('alice', PASSWORD)
  })

  const list = async (query = '') => (await admin.call('GET', `/grants${query}`)).json()

  test('GET lists each grant once, in pages, with the documents of the command line', async () => {
    for (let count = 0; count < 3; count += 1) await obtainTokens(server, client)
    const { out } = await runCommand(server.database, ['grants', 'list', '--json'])
    const first = await list('?limit=2')
    const second = await list(`?limit=2&after=${first.next}`)
    expect([...first.grants, ...second.grants]).toEqual(JSON.parse(out).grants)
    expect([first.grants.length, second.grants.length, second.next]).toEqual([2, 1, undefined])
    expect((await list(`?user_id=${userId}&client_id=${client.clientId}`)).grants).toHaveLength(3)
    const resource = encodeURIComponent(first.grants[0].audience)
    expect((await list(`?resource=${resource}`)).grants).toHaveLength(3)
  })

  test("DELETE ends the grant's token immediately, audited in table and log with the key", async () => {
    const { access_token } = await obtainTokens(server, client)
    const { grants } = await list()
    const alive: string[] = []
    for (const { grant_id } of grants) alive.push(grant_id)
    for (const grantId of alive) {
      const answer = await admin.call('DELETE', `/grants/${grantId}`)
      expect([answer.statusCode, answer.json()]).toEqual([200, { grant_id: grantId }])
      const details = { grantId, actor: admin.actor }
      const entry = {
        event: 'grant_revoked',
        user_id: userId,
        client_id: client.clientId,
        address: '127.0.0.1',
        details
      }
      expect(await lastChangeIn(server)).toEqual({ ...entry, request_id: idOf(answer) })
      const { clientId } = client
      expect(eventsOf(answer)).toEqual([{ event: 'grant_revoked', userId, clientId, address: '127.0.0.1', ...details }])
    }
    expect(await isActive(server, resourceServer, access_token)).toBe(false)
    expect(await list()).toEqual({ grants: [] })
  })

  test('POST revoke ends all tokens of a user or to a client immediately', async () => {
    for (const [body, ended] of [
      [{ user_id: userId }, { ended_grants: 1 }],
      [{ client_id: client.clientId }, {}],
      [{ user_id: userId, client_id: client.clientId }, { ended_grants: 1 }]
    ] as const) {
      const { access_token } = await obtainTokens(server, client)
      const answer = await admin.call('POST', '/grants/revoke', body)
      expect([answer.statusCode, answer.json()]).toEqual([200, { ...body, ...ended }])
      expect(await isActive(server, resourceServer, access_token)).toBe(false)
      expect(await lastChangeIn(server)).toMatchObject({ event: 'grants_revoked', details: { actor: admin.actor } })
    }
  })

  test.each([
    { name: 'neither user nor client', call: () => admin.call('POST', '/grants/revoke', {}), status: 422 },
    { name: 'no body', call: () => admin.call('POST', '/grants/revoke'), status: 400 },
    {
      name: 'an unknown user',
      call: () => admin.call('POST', '/grants/revoke', { user_id: randomUUID() }),
      status: 404
    },
    {
      name: 'a name instead of an id',
      call: () => admin.call('POST', '/grants/revoke', { user_id: 'alice' }),
      status: 404
    },
    { name: 'an unknown client', call: () => admin.call('GET', '/grants?client_id=nothing'), status: 404 },
    { name: 'an unknown grant', call: () => admin.call('DELETE', `/grants/${randomUUID()}`), status: 404 },
    { name: 'a malformed after', call: () => admin.call('GET', '/grants?after=a.b.c'), status: 422 }
  ])('$name is $status', async ({ call, status }) => {
    expect((await call()).statusCode).toBe(status)
  })
})

describe('users', () => {
  let userId: string
  beforeEach(async () => {
    await server.database.query({ name: 'test_no_users', text: 'delete from users', values: [] })
    userId = await server.createUser('alice', PASSWORD)
  })

  const signIn = async (password: string) => (await attemptSignIn(server, { username: 'alice', password })).statusCode

  describe('POST /admin/users', () => {
    test('creates a user who can sign in, and returns the document of the command line', async () => {
      const answer = await admin.call('POST', '/users', { username: ' bob ', password: 'a password of words' })
      expect(answer.statusCode).toBe(201)
      const { out } = await runCommand(server.database, ['users', 'list', '--json'])
      expect(JSON.parse(out).users[1]).toEqual(answer.json())
      expect((await attemptSignIn(server, { username: 'bob', password: 'a password of words' })).statusCode).toBe(303)
    })

    test('a user with an e-mail address is returned with it, created, listed and read', async () => {
      const email = 'carol@example.com'
      const created = (await admin.call('POST', '/users', { username: 'carol', email })).json()
      expect(created.email).toBe(email)
      expect((await admin.call('GET', `/users/${created.user_id}`)).json().email).toBe(email)
      expect((await admin.call('GET', '/users')).json().users[1].email).toBe(email)
    })

    test('an existing name is 409, and nothing is audited', async () => {
      const before = await changesIn(server)
      const answer = await admin.call('POST', '/users', { username: 'alice', password: 'another one of words' })
      expect([answer.statusCode, answer.json().detail]).toEqual([409, 'user alice exists already'])
      expect([await changesIn(server), await signIn(PASSWORD)]).toEqual([before, 303])
    })

    test.each([
      { username: '', password: 'a password of words' },
      { username: 'a\u0000b', password: 'a password of words' },
      { username: 'carol', password: '' },
      { username: 'carol', password: 'two lines\nof many words' }
    ])('%j is 422', async (body) => {
      expect((await admin.call('POST', '/users', body)).statusCode).toBe(422)
    })
  })

  describe('operations that end a user’s access', () => {
    test.each([
      { name: 'disable', call: () => admin.call('POST', `/users/${userId}/disable`), event: 'user_disabled' },
      {
        name: 'password',
        call: () => admin.call('PUT', `/users/${userId}/password`, { password: 'new words for alice' }),
        event: 'user_password_set'
      },
      { name: 'delete', call: () => admin.call('DELETE', `/users/${userId}`), event: 'user_deleted' }
    ])('$name: tokens are inactive immediately; audited in table and log with the key', async ({ call, event }) => {
      const { access_token } = await obtainTokens(server, client)
      expect(await isActive(server, resourceServer, access_token)).toBe(true)
      const answer = await call()
      expect([answer.statusCode, answer.json()]).toEqual([200, expect.objectContaining({ user_id: userId })])
      expect(await isActive(server, resourceServer, access_token)).toBe(false)
      expect(await signIn(PASSWORD)).toBe(422)
      const details = { username: 'alice', actor: admin.actor }
      const address = '127.0.0.1'
      const entry = { event, request_id: idOf(answer), client_id: null, user_id: userId, address, details }
      expect(await lastChangeIn(server)).toEqual(entry)
      expect(eventsOf(answer)).toEqual([{ event, userId, address, ...details }])
    })

    test('enable lets the user sign in again; enable and disable are repeatable and audited once', async () => {
      const path = `/users/${userId}`
      const before = (await changesIn(server)).length
      for (const verb of ['disable', 'disable', 'enable', 'enable']) {
        const answer = await admin.call('POST', `${path}/${verb}`)
        expect([answer.statusCode, answer.json().disabled]).toEqual([200, verb === 'disable'])
      }
      const made = (await changesIn(server)).slice(before).map(({ event }) => event)
      expect(made).toEqual(['user_disabled', 'user_enabled'])
      expect(await signIn(PASSWORD)).toBe(303)
    })

    test('no password is in a response, the table or the log', async () => {
      const answer = await admin.call('PUT', `/users/${userId}/password`, { password: 'canary words of yellow' })
      const kept = JSON.stringify([answer.json(), await changesIn(server), eventsOf(answer)])
      expect(kept).not.toMatch(/canary|argon2/)
    })
  })

  test.each([randomUUID(), 'alice', "' or true"])('the unknown user %j is 404', async (id) => {
    const path = `/users/${encodeURIComponent(id)}`
    const answers = [
      await admin.call('GET', path),
      await admin.call('DELETE', path),
      await admin.call('POST', `${path}/disable`),
      await admin.call('POST', `${path}/enable`),
      await admin.call('PUT', `${path}/password`, { password: 'a password of words' })
    ]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404, 404, 404])
  })

  describe('GET /admin/users', () => {
    test('lists each user once, in pages', async () => {
      for (const name of ['bob', 'carol', 'dave', 'erin']) await server.createUser(name, 'x')
      const seen: string[] = []
      let query = '?limit=2'
      for (let page = 0; page < 3; page += 1) {
        const { users, next } = (await admin.call('GET', `/users${query}`)).json()
        seen.push(...users.map(({ username }: { username: string }) => username))
        query = next === undefined ? 'none' : `?limit=2&after=${encodeURIComponent(next)}`
      }
      expect([seen, query]).toEqual([['alice', 'bob', 'carol', 'dave', 'erin'], 'none'])
    })

    test.each(['limit=0', 'limit=1001', 'limit=x', 'limit=1&limit=2', 'page=2', 'after=%00'])(
      '%s is 400',
      async (query) => {
        expect((await admin.call('GET', `/users?${query}`)).statusCode).toBe(400)
      }
    )

    test('a single user is returned without the hash', async () => {
      const answer = await admin.call('GET', `/users/${userId}`)
      const created_at = expect.stringMatching(/Z$/)
      expect(answer.json()).toEqual({ user_id: userId, username: 'alice', disabled: false, created_at })
    })
  })
})
