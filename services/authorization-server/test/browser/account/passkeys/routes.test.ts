import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { collectAuditLog } from '../../../support/audit-log.js'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, postForm, signedInBrowser } from '../../../support/pages.js'
import { addPasskey, signInWithPasskey, userWithPasskey } from '../../../support/passkeys.js'
import { createSoftwareAuthenticator } from '../../../support/software-authenticator.js'

const PAGE = `${ISSUER}/account/passkeys`
const clock = stopClock()
const { logger, eventsOf } = collectAuditLog()
let server: TestServer
let userId: string
let username: string
let users = 0

beforeAll(async () => {
  server = await startTestServer({ LOG_LEVEL: 'info' }, logger)
})
beforeEach(async () => {
  username = `user-${++users}`
  userId = await server.createUser(username, PASSWORD)
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

const names = ({ body }: Page) => [...body.matchAll(/<h2><bdi>([^<]*)/g)].map((match) => match[1])
const execute = (text: string, values: readonly unknown[] = []) =>
  server.database.query({ name: `test_${text.length}`, text, values })

/** Sends a form of the page without following the redirect. */
async function send(browser: Browser, form: 'add' | 'rename' | 'remove', fields: Record<string, string>) {
  return browser.submitOnly(fromForm(await browser.open(PAGE), `/account/passkeys/${form}`), fields)
}

describe('renaming', () => {
  test('renames a passkey of the user, and none of another user', async () => {
    const { browser, authenticator } = await userWithPasskey(server, username)
    await send(browser, 'rename', { passkey_id: authenticator.id, name: 'Old laptop' })
    expect(names(await browser.open(PAGE))).toEqual(['Old laptop'])
    await server.createUser(`${username}-other`, PASSWORD)
    const other = await userWithPasskey(server, `${username}-other`)
    await send(other.browser, 'rename', { passkey_id: authenticator.id, name: 'Stolen' })
    await send(other.browser, 'remove', { passkey_id: authenticator.id })
    expect(names(await browser.open(PAGE))).toEqual(['Old laptop'])
  })

  test('refuses a bad name', async () => {
    const { browser, authenticator } = await userWithPasskey(server, username)
    expect((await send(browser, 'rename', { passkey_id: authenticator.id, name: 'x'.repeat(61) })).statusCode).toBe(422)
    expect(names(await browser.open(PAGE))).toEqual(['Laptop'])
  })
})

describe('removing', () => {
  test('removes the passkey, ends the other sessions of the user and keeps this one under a new id', async () => {
    const { browser, authenticator } = await userWithPasskey(server, username)
    const other = server.newBrowser()
    await signInWithPasskey(other, authenticator)
    const before = browser.cookies.get('vk_session')
    const sent = await send(browser, 'remove', { passkey_id: authenticator.id })
    expect(sent.headers.location).toBe(`${PAGE}?done=removed`)
    expect(eventsOf(sent)).toMatchObject([{ event: 'passkey_removed', userId }])
    expect(names(await browser.open(PAGE))).toEqual([])
    expect(browser.cookies.get('vk_session')).not.toBe(before)
    expect((await other.open(`${ISSUER}/account/apps`)).url).toBe(`${ISSUER}/login`)
    expect((await signInWithPasskey(server.newBrowser(), authenticator)).statusCode).toBe(422)
  })

  test('the session lasts no longer afterwards, and is as old as before', async () => {
    const { browser, authenticator } = await userWithPasskey(server, username)
    clock.advance(200)
    await send(browser, 'remove', { passkey_id: authenticator.id })
    clock.advance(100)
    expect((await browser.open(PAGE)).body).toContain('login?page')
  })

  test('a passkey that is removed already: the page shows what is left', async () => {
    const { browser } = await userWithPasskey(server, username)
    const sent = await send(browser, 'remove', { passkey_id: 'AAAA' })
    expect(sent.headers.location).toBe(PAGE)
    expect(eventsOf(sent)).toEqual([])
  })

  test('the last way to sign in is kept, also if both passkeys are removed at the same moment', async () => {
    const { browser, authenticator } = await userWithPasskey(server, username)
    const second = createSoftwareAuthenticator()
    await addPasskey(browser, second)
    await execute('update users set password_hash = null where user_id = $1', [userId])
    const page = fromForm(await browser.open(PAGE), '/account/passkeys/remove')
    const ids = [authenticator.id, second.id]
    await Promise.all(ids.map((id) => postForm(server, browser, page, { passkey_id: id }, { origin: ISSUER })))
    const [left] = await execute('select passkey_id from passkeys where user_id = $1', [userId])
    const fresh = server.newBrowser()
    await signInWithPasskey(fresh, left?.passkey_id === second.id ? second : authenticator)
    const last = await fresh.open(PAGE)
    expect(names(last)).toHaveLength(1)
    expect(visibleText(last.body)).toContain('You have no other way to sign in')
    expect(last.body).not.toContain('/account/passkeys/remove')
    const forged = { ...page, body: page.body.replace(/name="csrf_token" value="[^"]*"/, csrfOf(last)) }
    const refused = await fresh.submitOnly(forged, { passkey_id: String(left?.passkey_id) })
    expect(refused.statusCode).toBe(422)
    expect(names(await fresh.open(PAGE))).toHaveLength(1)
  })
})

describe('access', () => {
  test('without a session, the sign-in page leads back', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(PAGE)
    expect(login.url).toBe(`${ISSUER}/login?page=passkeys`)
    const page = await browser.submit(login, { username, password: PASSWORD })
    expect(page.url).toBe(PAGE)
  })

  test('five minutes after the sign-in, renaming is possible, adding and removing need a new one', async () => {
    const { browser, authenticator } = await userWithPasskey(server, username)
    const page = await browser.open(PAGE)
    clock.advance(300)
    for (const form of ['add', 'remove'] as const) {
      const sent = await browser.submitOnly(fromForm(page, `/account/passkeys/${form}`), {
        passkey_id: authenticator.id
      })
      expect(sent.headers.location).toBe(`${ISSUER}/login?page=passkeys`)
    }
    await send(browser, 'rename', { passkey_id: authenticator.id, name: 'Phone' })
    const shown = await browser.open(PAGE)
    expect(names(shown)).toEqual(['Phone'])
    expect(shown.body).not.toMatch(/passkeys\/(add|remove)"/)
    const login = await browser.open(`${ISSUER}/login?page=passkeys`)
    expect(visibleText(login.body)).toContain('sign in again before you change it')
    const back = await browser.submit(login, { username, password: PASSWORD })
    expect(back.body).toContain('data-passkey="add"')
  })

  test.each(['add', 'rename', 'remove'] as const)('%s refuses a form of another site', async (form) => {
    const { browser } = await userWithPasskey(server, username)
    const page = fromForm(await browser.open(PAGE), `/account/passkeys/${form}`)
    const sent = await browser.submitOnly(page, { name: 'x' }, { origin: 'https://evil.example' })
    expect(sent.statusCode).toBe(403)
    expect(names(await browser.open(PAGE))).toEqual(['Laptop'])
  })

  test('on an issuer with an IP address, the page leads to the ways to sign in', async () => {
    const other = await startTestServer({ ISSUER: 'http://127.0.0.1:4000' })
    try {
      await other.createUser('alice', PASSWORD)
      const browser = await signedInBrowser(other, 'alice')
      const answer = await browser.get(`${other.config.issuer}/account/passkeys`)
      expect(answer.headers.location).toBe(`${other.config.issuer}/account/sign-ins`)
    } finally {
      await other.close()
    }
  })
})

const csrfOf = ({ body }: Page): string => /name="csrf_token" value="[^"]*"/.exec(body)?.[0] ?? ''
