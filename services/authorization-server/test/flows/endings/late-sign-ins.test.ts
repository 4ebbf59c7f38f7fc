import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Statement, StoreUnavailable } from '@valetkey/service-kit'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { Browser, type Page } from '../../support/browser.js'
import { browserAt } from '../../support/endings.js'
import { PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser, signOut } from '../../support/pages.js'
import { startPausingInstance } from '../../support/pausing-instance.js'

let server: TestServer
let paused: TestServer
let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
let username: string
let userId: string

beforeAll(async () => {
  server = await startTestServer()
  const started = await startPausingInstance(server)
  paused = started.paused
  pauses = started.pauses
})
beforeEach(async () => {
  username = `user-${Math.random()}`
  userId = await server.createUser(username, PASSWORD)
})
afterAll(async () => {
  await paused.close()
  await server.close()
})

const users = () => createUserStore(server.database)
const sessions = () => server.deps.session.sessions.list(userId)

async function signInAt(instance: TestServer): Promise<{ browser: Browser; answer: Page }> {
  const browser = new Browser(instance.publicServer, instance.config.issuer)
  const page = await browser.open(`${ISSUER}/login`)
  return { browser, answer: await browser.submitOnly(page, { username, password: PASSWORD }) }
}

describe('a sign-in whose user was read before all sessions ended opens no session', () => {
  test.each<{ name: string; end(): Promise<unknown> }>([
    {
      name: 'the user signs out everywhere, in another browser',
      end: async () => signOut(await signedInBrowser(server, username), { everywhere: 'on' })
    },
    { name: 'an operator sets a password', end: () => users().setPassword(userId, 'another hash', NOTE) },
    { name: 'an operator disables the user', end: () => users().disable(userId, NOTE) },
    {
      name: 'an operator disables and enables the user',
      end: async () => {
        await users().disable(userId, NOTE)
        await users().enable(userId, NOTE)
      }
    },
    { name: 'an operator deletes the user', end: () => users().delete(userId, NOTE) }
  ])('$name', async ({ end }) => {
    pauses.next = { before: 'open_session', run: end }
    const { browser, answer } = await signInAt(paused)
    expect(pauses.next).toBeUndefined()
    expect(answer.statusCode).toBe(303)
    expect(await sessions()).toEqual([])
    // The browser gets the sign-in page, and there is no dead end.
    const page = await browser.open(`${ISSUER}/account/apps`)
    expect(new URL(page.url).pathname).toBe('/login')
    expect(visibleText(page.body)).toContain('Please sign in again to continue.')
  })

  test('and the next sign-in opens one', async () => {
    pauses.next = { before: 'open_session', run: () => users().endSessions(userId) }
    await signInAt(paused)
    const { browser } = await signInAt(paused)
    expect(await sessions()).toHaveLength(1)
    expect((await browser.open(`${ISSUER}/account/apps`)).body).toContain(username)
  })
})

test('a sign-in that got 503, and that Postgres executes after signing out everywhere, opens no session', async () => {
  let late: Statement | undefined
  const stalled = await startInstance(server, {
    wrap: (database) => ({
      ...database,
      async query(statement) {
        if (statement.name !== 'open_session') return database.query(statement)
        late = statement
        throw new StoreUnavailable('postgres', new Error('stalled'))
      }
    })
  })
  const { browser, answer } = await signInAt(stalled)
  expect(answer.statusCode).toBe(503)
  await stalled.close()
  await users().endSessions(userId)
  expect(late).toBeDefined()
  await server.database.query(late as Statement)
  expect(await sessions()).toEqual([])
  expect((await browserAt(server, browser).open(`${ISSUER}/account/apps`)).url).toContain('/login')
})

test('of sign-ins and sign-outs everywhere at the same moment, no session outlives the last sign-out', async () => {
  for (let round = 0; round < 5; round++) {
    const out = await signedInBrowser(server, username)
    const signIns = Array.from({ length: 4 }, () => signInAt(server))
    const [signedIn] = await Promise.all([Promise.all(signIns), signOut(out, { everywhere: 'on' })])
    // Some sign-ins may have begun after it. This one is after all of them.
    await users().endSessions(userId)
    expect(await sessions()).toEqual([])
    for (const { browser } of signedIn)
      expect(new URL((await browser.open(`${ISSUER}/account/apps`)).url).pathname).toBe('/login')
  }
})
