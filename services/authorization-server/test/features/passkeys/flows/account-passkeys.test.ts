import { afterAll, describe, expect, test } from '@jest/globals'
import { createPasskeyStore } from '../../../../src/features/passkeys/passkey-store.js'
import { collectAuditLog } from '../../../support/audit-log.js'
import { COOKIES, ISSUER, startTestServer } from '../../../support/authorization-server.js'
import type { Page } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, postForm, signedInBrowser } from '../../../support/pages.js'
import { startPausingInstance } from '../../../support/pausing-instance.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import {
  addPasskey,
  optionsOn,
  passkeyNames,
  sendPasskeyForm,
  signInWithPasskey,
  userWithPasskey
} from '../support/passkeys.js'
import {
  attestationOf,
  createSoftwareAuthenticator,
  EMPTY,
  FLAGS,
  type Forgery,
  WITH_CERTIFICATE
} from '../support/software-authenticator.js'

const PAGE = `${ISSUER}/account/passkeys`
const clock = stopClock()
const { logger, eventsOf } = collectAuditLog()
const world = serverWithUser({ LOG_LEVEL: 'info' }, logger)
const execute = (text: string, values: readonly unknown[] = []) =>
  world.server.database.query({ name: `test_${text.length}`, text, values })

afterAll(() => clock.restart())

describe('pages of passkeys', () => {
  const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36'

  test.each([
    { name: 'browser and system', language: 'en', userAgent: CHROME, value: 'Chrome on Linux' },
    { name: 'browser and system, in German', language: 'de', userAgent: CHROME, value: 'Chrome auf Linux' },
    { name: 'the browser alone, if that is known', language: 'en', userAgent: 'Firefox/1', value: 'Firefox' },
    { name: 'the system alone, if that is known', language: 'en', userAgent: '<b>(X11)', value: 'Linux' },
    { name: 'nothing, if neither is known', language: 'en', userAgent: '<b>', value: '' }
  ])('the suggested name of a new passkey has $name', async ({ language, userAgent, value }) => {
    const { browser } = await userWithPasskey(world.server, world.username)
    const { body } = await browser.get(PAGE, { 'accept-language': language, 'user-agent': userAgent })
    expect(/<input id="name" [^>]*value="([^"]*)"/.exec(body)?.[1]).toBe(value)
  })

  describe('renaming', () => {
    test('renames a passkey of the user, and none of another user', async () => {
      const { browser, authenticator } = await userWithPasskey(world.server, world.username)
      await sendPasskeyForm(browser, 'rename', { passkey_id: authenticator.id, name: 'Old laptop' })
      expect(passkeyNames(await browser.open(PAGE))).toEqual(['Old laptop'])
      await world.server.createUser(`${world.username}-other`, PASSWORD)
      const other = await userWithPasskey(world.server, `${world.username}-other`)
      await sendPasskeyForm(other.browser, 'rename', { passkey_id: authenticator.id, name: 'Stolen' })
      await sendPasskeyForm(other.browser, 'remove', { passkey_id: authenticator.id })
      expect(passkeyNames(await browser.open(PAGE))).toEqual(['Old laptop'])
    })

    test('a bad name is refused', async () => {
      const { browser, authenticator } = await userWithPasskey(world.server, world.username)
      expect(
        (await sendPasskeyForm(browser, 'rename', { passkey_id: authenticator.id, name: 'x'.repeat(61) })).statusCode
      ).toBe(422)
      expect(passkeyNames(await browser.open(PAGE))).toEqual(['Laptop'])
    })
  })

  describe('removing', () => {
    test('removes the passkey, ends the other sessions of the user and keeps this one under a new id', async () => {
      const { browser, authenticator } = await userWithPasskey(world.server, world.username)
      const other = world.server.newBrowser()
      await signInWithPasskey(other, authenticator)
      const before = browser.cookies.get(COOKIES.session)
      const sent = await sendPasskeyForm(browser, 'remove', { passkey_id: authenticator.id })
      expect(sent.headers.location).toBe(`${PAGE}?done=removed`)
      expect(eventsOf(sent)).toMatchObject([{ event: 'passkey_removed', userId: world.userId }])
      expect(passkeyNames(await browser.open(PAGE))).toEqual([])
      expect(browser.cookies.get(COOKIES.session)).not.toBe(before)
      expect((await other.open(`${ISSUER}/account/apps`)).url).toBe(`${ISSUER}/login`)
      expect((await signInWithPasskey(world.server.newBrowser(), authenticator)).statusCode).toBe(422)
    })

    test('the session lasts no longer afterwards, and is as old as before', async () => {
      const { browser, authenticator } = await userWithPasskey(world.server, world.username)
      clock.advance(200)
      await sendPasskeyForm(browser, 'remove', { passkey_id: authenticator.id })
      clock.advance(100)
      expect((await browser.open(PAGE)).body).toContain('login?page')
    })

    test('a passkey that is removed already: the page shows what is left', async () => {
      const { browser } = await userWithPasskey(world.server, world.username)
      const sent = await sendPasskeyForm(browser, 'remove', { passkey_id: 'AAAA' })
      expect(sent.headers.location).toBe(PAGE)
      expect(eventsOf(sent)).toEqual([])
    })

    test('the last way to sign in is kept, also if both passkeys are removed at the same moment', async () => {
      const { browser, authenticator } = await userWithPasskey(world.server, world.username)
      const second = createSoftwareAuthenticator()
      await addPasskey(browser, second)
      await execute('update users set password_hash = null where user_id = $1', [world.userId])
      const page = fromForm(await browser.open(PAGE), '/account/passkeys/remove')
      const ids = [authenticator.id, second.id]
      await Promise.all(ids.map((id) => postForm(world.server, browser, page, { passkey_id: id }, { origin: ISSUER })))
      const [left] = await execute('select passkey_id from passkeys where user_id = $1', [world.userId])
      const fresh = world.server.newBrowser()
      await signInWithPasskey(fresh, left?.passkey_id === second.id ? second : authenticator)
      const last = await fresh.open(PAGE)
      expect(passkeyNames(last)).toHaveLength(1)
      expect(visibleText(last.body)).toContain('You have no other way to sign in')
      expect(last.body).not.toContain('/account/passkeys/remove')
      const forged = { ...page, body: page.body.replace(/name="csrf_token" value="[^"]*"/, csrfOf(last)) }
      const refused = await fresh.submitOnly(forged, { passkey_id: String(left?.passkey_id) })
      expect(refused.statusCode).toBe(422)
      expect(passkeyNames(await fresh.open(PAGE))).toHaveLength(1)
    })
  })

  describe('access', () => {
    test('without a session, the sign-in page leads back', async () => {
      const browser = world.server.newBrowser()
      const login = await browser.open(PAGE)
      expect(login.url).toBe(`${ISSUER}/login?page=passkeys`)
      const page = await browser.submit(login, { username: world.username, password: PASSWORD })
      expect(page.url).toBe(PAGE)
    })

    test('a page that stays open gets another challenge while the sign-in is fresh, and leads to sign-in afterwards', async () => {
      const browser = await signedInBrowser(world.server, world.username)
      const page = fromForm(await browser.open(PAGE), '/account/passkeys/add')
      clock.advance(299)
      const answer = await browser.get(`${PAGE}/options`)
      const authenticator = createSoftwareAuthenticator()
      const added = await browser.submitOnly(page, { name: 'Late', response: authenticator.create(answer.json()) })
      expect(added.headers.location).toBe(`${PAGE}?done=added`)
      clock.advance(1)
      const refused = await browser.get(`${PAGE}/options`)
      expect([refused.statusCode, refused.body]).toEqual([403, ''])
      expect((await browser.submitOnly(page, { name: 'Late' })).headers.location).toBe(`${ISSUER}/login?page=passkeys`)
      expect((await world.server.newBrowser().get(`${PAGE}/options`)).statusCode).toBe(403)
    })

    test('five minutes after the sign-in, renaming is possible, adding and removing need a new one', async () => {
      const { browser, authenticator } = await userWithPasskey(world.server, world.username)
      const page = await browser.open(PAGE)
      clock.advance(300)
      for (const form of ['add', 'remove'] as const) {
        const sent = await browser.submitOnly(fromForm(page, `/account/passkeys/${form}`), {
          passkey_id: authenticator.id
        })
        expect(sent.headers.location).toBe(`${ISSUER}/login?page=passkeys`)
      }
      await sendPasskeyForm(browser, 'rename', { passkey_id: authenticator.id, name: 'Phone' })
      const shown = await browser.open(PAGE)
      expect(passkeyNames(shown)).toEqual(['Phone'])
      expect(shown.body).not.toMatch(/passkeys\/(add|remove)"/)
      const login = await browser.open(`${ISSUER}/login?page=passkeys`)
      expect(visibleText(login.body)).toContain('sign in again before you change it')
      const back = await browser.submit(login, { username: world.username, password: PASSWORD })
      expect(back.body).toContain('data-passkey="add"')
    })

    test.each(['add', 'rename', 'remove'] as const)('%s refuses a form of another site', async (form) => {
      const { browser } = await userWithPasskey(world.server, world.username)
      const page = fromForm(await browser.open(PAGE), `/account/passkeys/${form}`)
      const sent = await browser.submitOnly(page, { name: 'x' }, { origin: 'https://evil.example' })
      expect(sent.statusCode).toBe(403)
      expect(passkeyNames(await browser.open(PAGE))).toEqual(['Laptop'])
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
})

describe('adding a passkey (WebAuthn Level 3 §7.1)', () => {
  test('a passkey is added under its name, and the user can sign in with it', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const authenticator = createSoftwareAuthenticator()
    const page = await addPasskey(browser, authenticator, { name: ' My\u202e  laptop ' })
    expect(passkeyNames(page)).toEqual(['My laptop'])
    expect(visibleText(page.body)).toContain('On one device only')
    const other = world.server.newBrowser()
    expect((await signInWithPasskey(other, authenticator)).url).toBe(`${ISSUER}/account/apps`)
  })

  test('the page asks for user verification, a discoverable passkey and no attestation, and excludes those that exist', async () => {
    const { browser, authenticator } = await userWithPasskey(world.server, world.username)
    const options = optionsOn(await browser.open(PAGE))
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: 'Valetkey' },
      user: { name: world.username },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [{ id: authenticator.id }]
    })
    expect(Buffer.from(options.user.id, 'base64url')).toHaveLength(32)
    // The same handle for each passkey of the user, and another one for each user.
    expect(optionsOn(await browser.open(PAGE)).user.id).toBe(options.user.id)
    await world.server.createUser(`${world.username}-other`, PASSWORD)
    const other = await signedInBrowser(world.server, `${world.username}-other`)
    expect(optionsOn(await other.open(PAGE)).user.id).not.toBe(options.user.id)
  })

  test('a synced passkey is shown as such', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const { userPresent, userVerified, backupEligible, backedUp, attested } = FLAGS
    const flags = userPresent | userVerified | backupEligible | backedUp | attested
    const page = await addPasskey(browser, createSoftwareAuthenticator(), { forged: { flags } })
    expect(visibleText(page.body)).toContain('Synced between your devices')
  })

  test('nothing is added if the user ends all sessions at the same moment', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const page = fromForm(await browser.open(PAGE), '/account/passkeys/add')
    const response = createSoftwareAuthenticator().create(optionsOn(page))
    const { paused, pauses } = await startPausingInstance(world.server)
    pauses.next = { before: 'add_passkey', run: () => world.server.deps.session.users.endSessions(world.userId) }
    await postForm(paused, browser, page, { name: 'Laptop', response }, { origin: ISSUER })
    expect([pauses.next, await createPasskeyStore(world.server.database).list(world.userId)]).toEqual([undefined, []])
    await paused.close()
  })

  test('each addition is a security decision in the audit log', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const page = await browser.open(PAGE)
    const response = createSoftwareAuthenticator().create(optionsOn(page))
    const sent = await sendPasskeyForm(browser, 'add', { name: 'Laptop', response })
    expect(sent.headers.location).toBe(`${PAGE}?done=added`)
    expect(eventsOf(sent)).toMatchObject([{ event: 'passkey_added', userId: world.userId }])
  })

  test.each<{ name: string; forged: Forgery }>([
    { name: 'another origin', forged: { origin: 'https://evil.example' } },
    { name: 'another relying party', forged: { rpId: 'evil.example' } },
    { name: 'no user verification', forged: { flags: FLAGS.userPresent | FLAGS.attested } },
    { name: 'the type of a sign-in', forged: { type: 'webauthn.get' } },
    { name: 'an invented challenge', forged: { challenge: 'A'.repeat(72) } },
    { name: 'an attestation that is not asked for', forged: { attestation: attestationOf('tpm', EMPTY) } }
  ])('refuses $name', async ({ forged }) => {
    const browser = await signedInBrowser(world.server, world.username)
    const page = await addPasskey(browser, createSoftwareAuthenticator(), { forged })
    expect(page.statusCode).toBe(422)
    expect(visibleText(page.body)).toContain('The passkey was not added.')
    expect(passkeyNames(page)).toEqual([])
  })

  test('certificates in the attestation are refused', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const forged = { attestation: attestationOf('packed', WITH_CERTIFICATE) }
    expect((await addPasskey(browser, createSoftwareAuthenticator(), { forged })).statusCode).toBe(422)
  })

  test('a second response to a challenge is refused, and one of another session', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const page = await browser.open(PAGE)
    const response = createSoftwareAuthenticator().create(optionsOn(page))
    const other = await signedInBrowser(world.server, world.username)
    expect((await sendPasskeyForm(other, 'add', { name: 'Other', response })).statusCode).toBe(422)
    expect((await sendPasskeyForm(browser, 'add', { name: 'Laptop', response })).statusCode).toBe(303)
    expect((await sendPasskeyForm(browser, 'add', { name: 'Laptop', response })).statusCode).toBe(422)
    const second = createSoftwareAuthenticator().create(optionsOn(page))
    expect((await sendPasskeyForm(browser, 'add', { name: 'Second', response: second })).statusCode).toBe(422)
    expect(passkeyNames(await browser.open(PAGE))).toEqual(['Laptop'])
  })

  test('the passkey of another user is refused', async () => {
    const { authenticator } = await userWithPasskey(world.server, world.username)
    await world.server.createUser(`${world.username}-other`, PASSWORD)
    const browser = await signedInBrowser(world.server, `${world.username}-other`)
    expect((await addPasskey(browser, authenticator)).statusCode).toBe(422)
    expect((await signInWithPasskey(world.server.newBrowser(), authenticator)).statusCode).toBe(422)
  })

  test('a bad name loses nothing: the same challenge can be answered again', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const page = await browser.open(PAGE)
    const response = createSoftwareAuthenticator().create(optionsOn(page))
    const refused = await sendPasskeyForm(browser, 'add', { name: ' ', response })
    expect(refused.statusCode).toBe(422)
    expect(visibleText(refused.body)).toContain('Please choose another name.')
    expect((await sendPasskeyForm(browser, 'add', { name: 'Laptop', response })).statusCode).toBe(303)
  })

  test('a user has 20 at most, also if two are added at the same moment', async () => {
    const { browser } = await userWithPasskey(world.server, world.username)
    await execute(
      `insert into passkeys (passkey_id, user_id, public_key, counter, transports, device_type, backed_up, aaguid, name,
         position, created_at)
       select 'copy-' || p || user_id, user_id, public_key, counter, transports, device_type, backed_up, aaguid, name, p, created_at
       from passkeys, generate_series(2, 19) p where user_id = $1`,
      [world.userId]
    )
    const pages = await Promise.all([browser.open(PAGE), browser.open(PAGE)])
    const answers = await Promise.all(
      pages.map((page) =>
        browser.submitOnly(fromForm(page, '/account/passkeys/add'), {
          name: 'Last',
          response: createSoftwareAuthenticator().create(optionsOn(page))
        })
      )
    )
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 422])
    const full = await browser.open(PAGE)
    expect(passkeyNames(full)).toHaveLength(20)
    expect(visibleText(full.body)).toContain('You have 20 passkeys')
    expect(full.body).not.toContain('data-passkey="add"')
    expect(full.headers['content-security-policy']).not.toContain('script-src')
  })

  test('a user without a password, who signs in with a provider, cannot add one', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const page = await browser.open(PAGE)
    await execute('update users set password_hash = null where user_id = $1', [world.userId])
    const response = createSoftwareAuthenticator().create(optionsOn(page))
    const sent = await browser.submitOnly(fromForm(page, '/account/passkeys/add'), { name: 'Laptop', response })
    expect(sent.statusCode).toBe(422)
    expect(visibleText(sent.body)).toContain('Passkeys are for accounts with a password here.')
  })
})
