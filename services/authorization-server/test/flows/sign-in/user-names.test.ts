import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { inviteOwner, withdrawInvitation } from '../../../src/features/developer-apps/app-owners.js'
import { addTester, removeTester } from '../../../src/features/developer-apps/app-testers.js'
import { listOwnApps } from '../../../src/features/developer-apps/own-apps.js'
import { createUserOf } from '../../../src/features/foreign-sign-in/identities/create-user.js'
import { createIdentityStore } from '../../../src/features/foreign-sign-in/identities/identity-store.js'
import { createUserImportStore } from '../../../src/features/user-import/user-import-store.js'
import { createClientStore } from '../../../src/storage/postgres/clients.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { changesIn } from '../../support/administration.js'
import { NOTE } from '../../support/audit-note.js'
import { COOKIES, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { clearCounters } from '../../support/counters.js'
import { appOf, newActor } from '../../support/developer-apps.js'
import { PASSWORD } from '../../support/flow.js'
import { ownedApp } from '../../support/owned-app.js'
import { visibleText } from '../../support/page-content.js'
import { attemptSignIn } from '../../support/sign-in.js'

const NORA = 'Nora.Berg@Example.org'
const SPELLINGS = [
  NORA,
  'nora.berg@example.org',
  'NORA.BERG@EXAMPLE.ORG',
  ' nora.berg@Example.org ',
  'Ｎora.Berg@example.org',
  'nora\u200b.berg@example.org'
]

describe('a user name in another spelling (RFC 8265 §3.3)', () => {
  let server: TestServer
  let directory: string
  let userId: string

  beforeAll(async () => {
    server = await startTestServer()
    directory = await mkdtemp(path.join(tmpdir(), 'names-'))
  })
  beforeEach(async () => {
    await server.database.query({ name: '', text: 'delete from users', values: [] })
    userId = await server.createUser(NORA, PASSWORD)
  })
  afterEach(() => clearCounters(server))
  afterAll(async () => {
    await rm(directory, { recursive: true })
    await server.close()
  })

  const statusOf = async (username: string, password = PASSWORD, more = {}) =>
    (await attemptSignIn(server, { username, password, ...more })).statusCode
  const names = async () => {
    const rows = await server.database.query<{ username: string }>({
      name: '',
      text: 'select username from users order by username',
      values: []
    })
    return rows.map(({ username }) => username)
  }
  const users = (...args: string[]) => runCommand(server.database, ['users', ...args], { stdin: 'new words for nora' })

  async function importNames(lines: readonly object[], ...more: string[]) {
    const file = path.join(directory, 'users.ndjson')
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    return runCommand(server.database, ['users', 'import', file, '--json', ...more])
  }

  test.each(SPELLINGS)('%j signs in', async (username) => {
    expect(await statusOf(username)).toBe(303)
  })

  test('pages show the name as it was entered at creation', async () => {
    const browser = server.newBrowser()
    await browser.submit(await browser.open(`${ISSUER}/login`), { username: NORA.toLowerCase(), password: PASSWORD })
    expect(visibleText((await browser.open(`${ISSUER}/account/apps`)).body)).toContain(NORA)
  })

  test('failures are counted together: ten spellings have no more tries than one', async () => {
    const spelt = Array.from({ length: 10 }, (_, at) => NORA.slice(0, at).toUpperCase() + NORA.slice(at))
    for (let attempt = 0; attempt < 20; attempt++) expect(await statusOf(spelt[attempt % 10] ?? '', 'wrong')).toBe(422)
    for (const username of spelt) expect(await statusOf(username)).toBe(429)
  })

  test('a browser that knows the account knows it in each spelling', async () => {
    const first = await attemptSignIn(server, { username: NORA.toLowerCase(), password: PASSWORD })
    const known = first.cookies.find(({ name }) => name === COOKIES.knownAccounts)?.value ?? ''
    const again = { username: NORA, password: PASSWORD, cookies: { [COOKIES.knownAccounts]: known } }
    const after = (await attemptSignIn(server, again)).cookies.find(({ name }) => name === COOKIES.knownAccounts)
    expect(after?.value.split('~')).toHaveLength(1)
  })

  test.each(SPELLINGS)('no second user %j is created, and the message names the first', async (username) => {
    const before = await changesIn(server)
    const { code, said } = await users('create', username, '--password-stdin')
    // A zero-width space is refused in every new name.
    const [expected, message] = username.includes('\u200b') ? [2, 'U+200B'] : [4, `user ${NORA} exists already`]
    expect([code, said]).toEqual([expected, expect.stringContaining(message)])
    expect([await names(), await changesIn(server)]).toEqual([[NORA], before])
  })

  test('of two users who are created at the same moment, one is stored', async () => {
    const store = createUserStore(server.database)
    const spelt = ['Bob', 'bob', 'BOB', 'ｂob']
    const made = await Promise.all(
      spelt.map((username) => store.create({ userId: crypto.randomUUID(), username, passwordHash: undefined }, NOTE))
    )
    expect(made.filter(Boolean)).toHaveLength(1)
    expect((await names()).filter((name) => /b$/i.test(name))).toHaveLength(1)
  })

  test.each(SPELLINGS)('commands find the user as %j', async (username) => {
    const { code, out } = await users('show', username, '--json')
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ user_id: userId, username: NORA })])
  })

  test('a new password is set for the user', async () => {
    expect((await users('set-password', NORA.toUpperCase(), '--password-stdin')).code).toBe(0)
    expect([await statusOf(NORA), await statusOf(NORA, 'new words for nora')]).toEqual([422, 303])
  })

  test('the name of a deleted user is free in each spelling', async () => {
    expect((await users('delete', NORA.toLowerCase(), '--yes')).code).toBe(0)
    expect((await users('create', NORA.toLowerCase(), '--password-stdin')).code).toBe(0)
    expect(await names()).toEqual([NORA.toLowerCase()])
  })

  test('users are listed without regard to case, in pages', async () => {
    for (const username of ['bob', 'Carol', 'Zoe', 'alice']) await server.createUser(username, PASSWORD)
    const store = createUserStore(server.database)
    const first = await store.list({ limit: 3 })
    const rest = await store.list({ after: first.at(-1)?.username, limit: 3 })
    expect([...first, ...rest].map(({ username }) => username)).toEqual(['alice', 'bob', 'Carol', NORA, 'Zoe'])
  })

  test.each([[['--dry-run']], [[]]])(
    'import with %j names a name of the database that is spelt differently',
    async (options) => {
      const { code, out, said } = await importNames([{ username: NORA.toLowerCase() }, { username: 'bob' }], ...options)
      const problem = `line 1: ${NORA.toLowerCase()} is the user name of ${NORA}, who exists\n`
      expect([code, said]).toEqual([4, expect.stringContaining(problem)])
      expect(JSON.parse(out)).toMatchObject({ created: 1, existing: 0, refused: 1 })
    }
  )

  test('import of a file once more skips its users', async () => {
    const { code, out } = await importNames([{ username: NORA }])
    expect([code, JSON.parse(out)]).toMatchObject([0, { existing: 1, refused: 0 }])
  })

  test('import of a user with the same user_id skips it, also if the name is spelt differently', async () => {
    const { code, out } = await importNames([{ username: NORA.toLowerCase(), user_id: userId }])
    expect([code, JSON.parse(out)]).toMatchObject([0, { existing: 1, refused: 0 }])
  })

  test('import with --dry-run names two lines with one name', async () => {
    const lines = [{ username: 'Zoe' }, { username: 'bob' }, { username: 'ＺOE' }, { username: 'bob' }]
    const { code, said } = await importNames(lines, '--dry-run')
    expect([code, said]).toEqual([
      2,
      expect.stringContaining('line 3: ＺOE is in line 1 as well, as Zoe\nline 4: bob is in line 2 as well\n')
    ])
  })

  test('the store of imports creates no second user', async () => {
    const user = { userId: crypto.randomUUID(), keepsId: false, disabled: false, username: NORA.toLowerCase() }
    const missing = { passwordHash: undefined, displayName: undefined, email: undefined, identities: [] }
    expect(await createUserImportStore(server.database).add([{ ...user, ...missing }], NOTE)).toBe(0)
  })

  test('a user whom a provider names so gets another name', async () => {
    const identity = { issuer: 'https://id.example', subject: '1' }
    const request = { id: 'r', ip: '192.0.2.1', log: { info: () => {} } } as never
    const given = { username: NORA.toUpperCase(), displayName: undefined, way: 'test' }
    const created = await createUserOf(identity, given, request, createIdentityStore(server.database))
    expect(created?.username).toBe(`${NORA.toUpperCase()}-2`)
  })
})

describe('people of apps in another spelling', () => {
  const given = ownedApp()
  const upper = () => given.bob.user.username.toUpperCase()
  const lower = () => given.bob.user.username.toLowerCase()
  const peopleOf = async () => {
    const { testers, invitations } = await appOf(given.alice, given.clientId, given.deps)
    return { testers, invitations: invitations.map(({ username }) => username) }
  }

  test('a test user has the right, is shown as typed, is one of them, and is removed', async () => {
    const mayTest = () => createClientStore(given.world.database).isUsableBy(given.bob.user.userId, given.clientId)
    const command = (username: string) => ({ clientId: given.clientId, username })
    await addTester(command(upper()), given.alice, given.deps)
    expect([await mayTest(), (await peopleOf()).testers]).toEqual([true, [upper()]])
    await addTester(command(lower()), given.alice, given.deps)
    expect((await peopleOf()).testers).toEqual([lower()])
    await removeTester(command(upper()), given.alice, given.deps)
    expect([await mayTest(), (await peopleOf()).testers]).toEqual([false, []])
  })

  test('an invited owner is invited once, and the invitation is withdrawn', async () => {
    const invite = (username: string) =>
      inviteOwner({ clientId: given.clientId, username, transfers: false }, given.alice, given.deps)
    await invite(upper())
    await invite(lower())
    expect((await peopleOf()).invitations).toEqual([lower()])
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toHaveLength(1)
    await withdrawInvitation({ clientId: given.clientId, username: upper() }, given.alice, given.deps)
    expect((await listOwnApps(given.bob.user, given.deps)).invitations).toEqual([])
  })

  test('an owner is known', async () => {
    const nora = await newActor(given.world, `Nora-${given.clientId}`)
    const username = nora.user.username.toUpperCase()
    const owner = given.alice.user.username.toUpperCase()
    const invite = (name: string) =>
      inviteOwner({ clientId: given.clientId, username: name, transfers: false }, given.alice, given.deps)
    expect([(await invite(owner)).kind, (await invite(username)).kind]).toEqual(['is_owner', 'invited'])
  })
})
