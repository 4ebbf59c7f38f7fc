import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { changesIn } from '../../support/administration.js'
import { NOTE } from '../../support/audit-note.js'
import { COOKIES, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { clearCounters } from '../../support/counters.js'
import { PASSWORD } from '../../support/flow.js'
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
  let userId: string

  beforeAll(async () => {
    server = await startTestServer()
  })
  beforeEach(async () => {
    await server.database.query({ name: '', text: 'delete from users', values: [] })
    userId = await server.createUser(NORA, PASSWORD)
  })
  afterEach(() => clearCounters(server))
  afterAll(() => server.close())

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
})
