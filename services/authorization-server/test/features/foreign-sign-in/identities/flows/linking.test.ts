import { beforeEach, describe, expect, test } from '@jest/globals'
import { hashId, newRandomId } from '../../../../../src/browser/session/random-id.js'
import { createIdentityStore } from '../../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { createRecordAuthentication } from '../../../../../src/platform/encryption/authenticate-records.js'
import { createUserStore } from '../../../../../src/storage/postgres/users.js'
import { changesIn } from '../../../../support/administration.js'
import { ISSUER } from '../../../../support/authorization-server.js'
import type { Browser, Page } from '../../../../support/browser.js'
import { stopClock } from '../../../../support/clock.js'
import { PASSWORD } from '../../../../support/flow.js'
import {
  callbackUrl,
  HANDOFF,
  insertIdentity,
  LOGIN_ISSUER,
  passHandoff,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../../../support/handoff.js'
import { fromForm, postForm, signedInBrowser, signOut } from '../../../../support/pages.js'
import { startPausingInstance } from '../../../../support/pausing-instance.js'
import { serverWithUser } from '../../../../support/server-with-user.js'

const SIGN_INS = `${ISSUER}/account/sign-ins`
const LINK = `${ISSUER}/login/handoff?purpose=link`
const world = serverWithUser(HANDOFF)
const identities = () => createIdentityStore(world.server.database).list(world.userId)

describe('links between accounts and identities', () => {
  const propose = (browser: Browser, claims = {}) =>
    passHandoff(browser, { sub: world.subject, name: 'Bob', ...claims }, LINK)
  const isSignedIn = async (browser: Browser) => (await browser.get(SIGN_INS)).statusCode === 200

  async function auditOf(event: string) {
    const rows = await world.server.database.query<{ user_id: string; details: Record<string, unknown> }>({
      name: 'test_audit_of',
      text: 'select user_id, details from audit_events where event = $1 and user_id = $2',
      values: [event, world.userId]
    })
    return rows
  }

  test('the page of the ways to sign in leads to the password, if the user has one', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const link = `href="${ISSUER}/account/password"`
    expect((await browser.open(SIGN_INS)).body).toContain(link)
    const text = 'update users set password_hash = null where user_id = $1'
    await world.server.database.query({ name: 'test_no_password', text, values: [world.userId] })
    expect((await browser.open(SIGN_INS)).body).not.toContain(link)
  })

  describe('linking', () => {
    test('asks with both names, links after the answer, and then both ways sign in to the same account', async () => {
      const browser = await signedInBrowser(world.server, world.username)
      const hub = await browser.open(SIGN_INS)
      expect(hub.body).toContain('Link <bdi>Example Login</bdi>')
      const question = await propose(browser)
      for (const name of ['Bob', world.username, 'Example Login']) expect(question.body).toContain(name)
      expect(await identities()).toEqual([])
      const page = await browser.submit(question, {})
      expect(page.url).toBe(`${SIGN_INS}?done=linked`)
      expect(await identities()).toMatchObject([{ issuer: LOGIN_ISSUER, subject: world.subject }])
      expect((await passHandoff(world.server.newBrowser(), { sub: world.subject })).body).toContain(world.username)
    })

    test('writes one audit event, also if the form is sent twice in parallel', async () => {
      const browser = await signedInBrowser(world.server, world.username)
      const question = await propose(browser)
      const answers = await Promise.all([browser.submitOnly(question, {}), browser.submitOnly(question, {})])
      for (const { headers } of answers) expect(headers.location).toMatch(SIGN_INS)
      expect(await auditOf('identity_linked')).toMatchObject([
        { details: { issuer: LOGIN_ISSUER, subject: world.subject, label: 'Example Login', reason: 'link' } }
      ])
    })

    test('an identity that is linked already needs no answer', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const page = await propose(await signedInBrowser(world.server, world.username))
      expect(page.url).toBe(`${SIGN_INS}?done=linked`)
    })

    test('does not change the name or the sign-in time of the account', async () => {
      const browser = await signedInBrowser(world.server, world.username)
      await browser.submit(await propose(browser), {})
      expect(await createUserStore(world.server.database).findById(world.userId)).toMatchObject({
        displayName: undefined
      })
    })

    test('begins only with a sign-in in the last five minutes, and returns to the page after another one', async () => {
      const clock = stopClock()
      try {
        const browser = await signedInBrowser(world.server, world.username)
        clock.advance(301)
        const page = await browser.open(LINK)
        expect(page.url).toBe(`${ISSUER}/login?page=sign-ins`)
        expect((await browser.submit(page, { username: world.username, password: PASSWORD })).url).toBe(SIGN_INS)
        expect((await startHandoff(browser, LINK)).href).toContain('request=')
      } finally {
        clock.restart()
      }
    })

    test('that the user stopped returns to the page of the account', async () => {
      const browser = await signedInBrowser(world.server, world.username)
      const id = requestIdOf(await startHandoff(browser, LINK))
      const page = await browser.open(`${ISSUER}/login/handoff/callback?request=${id}&error=access_denied`)
      expect(page.url).toBe(SIGN_INS)
    })

    test('without a session leads to the sign-in page', async () => {
      expect((await world.server.newBrowser().open(LINK)).url).toBe(`${ISSUER}/login?page=sign-ins`)
    })
  })

  describe('unlinking', () => {
    const unlink = async (browser: Browser) =>
      browser.submit(fromForm(await browser.open(SIGN_INS), '/account/sign-ins/unlink'), {})

    test('ends the sessions of other browsers, keeps this one, and is audited', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const [browser, other] = [await signedInBrowser(world.server, world.username), world.server.newBrowser()]
      await passHandoff(other, { sub: world.subject })
      const page = await unlink(browser)
      expect(page.url).toBe(`${SIGN_INS}?done=unlinked`)
      expect(await identities()).toEqual([])
      expect([await isSignedIn(browser), await isSignedIn(other)]).toEqual([true, false])
      expect(await auditOf('identity_unlinked')).toMatchObject([
        { details: { issuer: LOGIN_ISSUER, subject: world.subject } }
      ])
      expect((await passHandoff(world.server.newBrowser(), { sub: world.subject })).statusCode).toBe(403)
    })

    test('by a form of another site is refused', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const browser = await signedInBrowser(world.server, world.username)
      const form = fromForm(await browser.open(SIGN_INS), '/account/sign-ins/unlink')
      const refused = await browser.submitOnly(form, {}, { origin: 'https://evil.example' })
      expect([refused.statusCode, await identities()]).toEqual([403, [expect.anything()]])
    })

    test('needs a sign-in in the last five minutes', async () => {
      const clock = stopClock()
      try {
        await insertIdentity(world.server, world.userId, world.subject)
        const browser = await signedInBrowser(world.server, world.username)
        clock.advance(301)
        expect((await unlink(browser)).url).toBe(`${ISSUER}/login?page=sign-ins`)
        expect(await identities()).toHaveLength(1)
      } finally {
        clock.restart()
      }
    })

    test('of an identity of another user changes nothing', async () => {
      const victim = await world.server.createUser(`${world.username}-victim`, PASSWORD)
      await insertIdentity(world.server, victim, `${world.subject}-victim`)
      await insertIdentity(world.server, world.userId, world.subject)
      const browser = await signedInBrowser(world.server, world.username)
      const page = fromForm(await browser.open(SIGN_INS), '/account/sign-ins/unlink')
      await browser.submit(page, { subject: `${world.subject}-victim` })
      expect(await createIdentityStore(world.server.database).list(victim)).toHaveLength(1)
    })
  })

  describe('the last way in', () => {
    async function withoutPassword(): Promise<Browser> {
      await world.server.database.query({
        name: 'test_drop_password',
        text: 'update users set password_hash = null where user_id = $1',
        values: [world.userId]
      })
      await insertIdentity(world.server, world.userId, world.subject)
      const browser = world.server.newBrowser()
      await passHandoff(browser, { sub: world.subject })
      return browser
    }
    const send = async (browser: Browser, from: Browser, fields: Record<string, string>) => {
      const csrf = /name="csrf_token" value="([^"]+)"/.exec((await from.open(SIGN_INS)).body)?.[1] ?? ''
      const form = `<form action="${SIGN_INS}/unlink"><input name="csrf_token" value="${csrf}"></form>`
      const page = Object.assign(Object.create(await from.get(SIGN_INS)), { body: form })
      return browser.submitOnly(page, { issuer: LOGIN_ISSUER, ...fields })
    }

    test('has no button, and a form for it changes nothing', async () => {
      const browser = await withoutPassword()
      // A form with a CSRF token of this session, which the page shows for another identity.
      await insertIdentity(world.server, world.userId, 'old', 'https://gone.example')
      const page = await browser.open(SIGN_INS)
      expect(page.body).toContain('This is your only way to sign in')
      expect(page.body).toContain('no longer offers this way to sign in')
      const answer = await send(browser, browser, { subject: world.subject })
      expect(answer.headers.location).toBe(`${SIGN_INS}?problem=last_way`)
      expect(await identities()).toHaveLength(2)
    })

    test('stays if the last two are unlinked in parallel', async () => {
      const browser = await withoutPassword()
      await insertIdentity(world.server, world.userId, `${world.subject}-second`)
      await Promise.all(
        [world.subject, `${world.subject}-second`].map((each) => send(browser, browser, { subject: each }))
      )
      expect(await identities()).toHaveLength(1)
    })
  })

  test('linking leaves no entry of an operator', async () => {
    const before = (await changesIn(world.server)).length
    const browser = await signedInBrowser(world.server, world.username)
    await browser.submit(await propose(browser), {})
    expect(await changesIn(world.server)).toHaveLength(before)
  })

  test('an assertion for linking does not sign in another browser', async () => {
    const browser = await signedInBrowser(world.server, world.username)
    const nonce = requestIdOf(await startHandoff(browser, LINK))
    const page = await world.server.newBrowser().open(callbackUrl(await signAssertion({ nonce, sub: world.subject })))
    expect(page.body).toContain('This sign-in belongs to another browser')
  })
})

describe('attacks on linking', () => {
  /** The confirmation page in the victim's browser, about the attacker's identity. */
  async function question(): Promise<{ browser: Browser; page: Page }> {
    const browser = await signedInBrowser(world.server, world.username)
    return { browser, page: await passHandoff(browser, { sub: world.subject }, LINK) }
  }
  const proposalKey = (page: Page) => `vk:proposal:${hashId(new URL(page.url).searchParams.get('proposal') ?? '')}`

  describe('an attacker who links an own identity to the account of a victim', () => {
    test('cannot answer for the victim from another site (CSRF)', async () => {
      const { browser, page } = await question()
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      expect((await postForm(world.server, browser, page, {}, headers)).statusCode).toBe(403)
      expect((await postForm(world.server, browser, page, { csrf_token: 'x' }, { origin: ISSUER })).statusCode).toBe(
        303
      )
      expect(await identities()).toEqual([])
    })

    test('links nothing by the visit of addresses alone', async () => {
      const { browser, page } = await question()
      await browser.open(page.url)
      expect(await identities()).toEqual([])
    })

    test('cannot use the victim’s browser with an assertion of another browser (login CSRF)', async () => {
      await world.server.createUser(`attacker-of-${world.username}`, PASSWORD)
      const attacker = await signedInBrowser(world.server, `attacker-of-${world.username}`)
      const nonce = requestIdOf(await startHandoff(attacker, LINK))
      const browser = await signedInBrowser(world.server, world.username)
      const page = await browser.open(callbackUrl(await signAssertion({ nonce, sub: world.subject })))
      expect(page.statusCode).toBe(400)
      expect(await identities()).toEqual([])
    })

    test('cannot have an earlier sign-in at the login page linked: the page must ask again', async () => {
      const browser = await signedInBrowser(world.server, world.username)
      const loginPage = await startHandoff(browser, LINK)
      expect(loginPage.searchParams.get('prompt')).toBe('login')
      const earlier = Math.floor(Date.now() / 1000) - 301
      const claims = { nonce: requestIdOf(loginPage), sub: world.subject, auth_time: earlier }
      const page = await browser.open(callbackUrl(await signAssertion(claims)))
      expect([page.statusCode, page.body]).toEqual([403, expect.stringContaining('did not confirm')])
      expect(await identities()).toEqual([])
    })

    test('cannot answer with a proposal of another browser or session', async () => {
      const { page } = await question()
      const other = await signedInBrowser(world.server, world.username)
      const own = await passHandoff(other, { sub: `${world.subject}-own` }, LINK)
      const proposal = new URL(page.url).searchParams.get('proposal') ?? ''
      expect((await other.open(page.url)).url).toBe(SIGN_INS)
      expect((await other.submitOnly(own, { proposal })).headers.location).toBe(SIGN_INS)
      expect(await identities()).toEqual([])
    })

    test('gets no proposal if the user of the browser has changed meanwhile', async () => {
      await world.server.createUser(`second-of-${world.username}`, PASSWORD)
      const browser = await signedInBrowser(world.server, `second-of-${world.username}`)
      const nonce = requestIdOf(await startHandoff(browser, LINK))
      await signOut(browser)
      await browser.submit(await browser.open(`${ISSUER}/login`), { username: world.username, password: PASSWORD })
      const page = await browser.open(callbackUrl(await signAssertion({ nonce, sub: world.subject })))
      expect(page.statusCode).toBe(403)
      expect(page.body).toContain('This link is no longer available')
      expect(await identities()).toEqual([])
    })

    test('cannot answer after signing out', async () => {
      const { browser, page } = await question()
      await signOut(browser)
      const answer = await browser.submit(page, {})
      expect(answer.statusCode).toBe(400)
      expect(await identities()).toEqual([])
    })

    test('links nothing if the victim ends all sessions while the form is processed', async () => {
      const { browser, page } = await question()
      const { paused, pauses } = await startPausingInstance(world.server)
      pauses.next = {
        before: 'link_own_identity',
        run: () => world.server.deps.session.users.endSessions(world.userId)
      }
      const answer = await postForm(paused, browser, page, {}, { origin: ISSUER })
      expect([answer.statusCode, pauses.next, await identities()]).toEqual([403, undefined, []])
      await paused.close()
    })

    test('cannot answer in a session whose sign-in is older than five minutes', async () => {
      const clock = stopClock()
      try {
        const { browser, page } = await question()
        clock.advance(301)
        expect((await browser.submitOnly(page, {})).headers.location).toBe(`${ISSUER}/login?page=sign-ins`)
        expect(await identities()).toEqual([])
      } finally {
        clock.restart()
      }
    })
  })

  describe('a proposal that an attacker writes to Redis', () => {
    test.each<{ name: string; forge: (record: string, key: string) => string }>([
      { name: 'another subject', forge: (record) => record.replace(/"subject":"[^"]*"/, '"subject":"forged"') },
      { name: 'without MAC', forge: (record) => record.slice(44) },
      {
        name: 'a MAC under another key',
        forge: (record, key) => createRecordAuthentication(['m'.repeat(32)]).protect(key, record.slice(44))
      }
    ])('$name links nothing', async ({ forge }) => {
      const { browser, page } = await question()
      const key = proposalKey(page)
      await world.server.redis.set(key, forge((await world.server.redis.get(key)) ?? '', key))
      expect((await browser.submitOnly(page, {})).headers.location).toBe(SIGN_INS)
      expect(await identities()).toEqual([])
    })

    test('a copy of another proposal links nothing', async () => {
      const [first, second] = [await question(), await question()]
      await world.server.redis.set(
        proposalKey(first.page),
        (await world.server.redis.get(proposalKey(second.page))) ?? ''
      )
      await first.browser.submitOnly(first.page, {})
      expect(await identities()).toEqual([])
    })
  })

  test('an identity that is linked to another user is refused, and the page does not say whose it is', async () => {
    await insertIdentity(
      world.server,
      await world.server.createUser(`owner-of-${world.username}`, PASSWORD),
      world.subject
    )
    const { page } = await question()
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('Already linked')
    expect(page.body).not.toContain(`owner-of-${world.username}`)
  })

  test('an identity that was linked elsewhere between question and answer is refused', async () => {
    const { browser, page } = await question()
    await insertIdentity(
      world.server,
      await world.server.createUser(`owner-of-${world.username}`, PASSWORD),
      world.subject
    )
    const answer = await browser.submit(page, {})
    expect(answer.statusCode).toBe(403)
    expect(answer.body).toContain('Already linked')
    expect(await identities()).toEqual([])
  })
})

describe('an invitation that is accepted with a login page', () => {
  let token: string
  beforeEach(async () => {
    token = newRandomId()
    await world.server.database.query({
      name: 'test_invite',
      text: `insert into account_links (user_id, token_hash, purpose, expires_at)
        values ($1, $2, 'invitation', now() + interval '1 hour')`,
      values: [world.userId, Buffer.from(hashId(token), 'base64url')]
    })
  })
  const accept = (browser: Browser, given = token, claims = {}) =>
    passHandoff(
      browser,
      { sub: world.subject, name: 'Bob', ...claims },
      `${ISSUER}/login/handoff?purpose=invitation&token=${given}`
    )

  test('links the identity after the question, signs in, and can be used once', async () => {
    const browser = world.server.newBrowser()
    const question = await accept(browser)
    expect(question.body).toContain(world.username)
    expect(await identities()).toEqual([])
    const page = await browser.submit(question, {})
    expect(page.url).toBe(SIGN_INS)
    expect(await identities()).toMatchObject([{ subject: world.subject }])
    const audited = await world.server.database.query({
      name: 'test_audit_of_invitation',
      text: `select details from audit_events where event = 'identity_linked' and user_id = $1`,
      values: [world.userId]
    })
    expect(audited).toMatchObject([{ details: { reason: 'invitation' } }])
    const again = await accept(world.server.newBrowser(), token, { sub: 'mallory' })
    expect(again.statusCode).toBe(403)
    expect(again.body).toContain('This link is no longer available')
  })

  test('is not redeemed by another browser that learns the address of the question', async () => {
    const question = await accept(world.server.newBrowser())
    const other = world.server.newBrowser()
    await other.open(`${ISSUER}/login`)
    expect((await other.open(question.url)).statusCode).toBe(400)
    const proposal = new URL(question.url).searchParams.get('proposal') ?? ''
    const own = await accept(other, token, { sub: `${world.subject}-other` })
    expect((await other.submitOnly(own, { proposal })).statusCode).toBe(400)
    expect(await identities()).toEqual([])
  })

  test('links one identity if two persons answer in parallel', async () => {
    const persons = [world.subject, `${world.subject}-other`]
    const browsers = persons.map(() => world.server.newBrowser())
    const questions = await Promise.all(browsers.map((each, index) => accept(each, token, { sub: persons[index] })))
    const pages = await Promise.all(browsers.map((each, index) => each.submit(questions[index] as never, {})))
    expect(pages.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 403])
    expect(await identities()).toHaveLength(1)
  })

  test('is not used up by an identity that is linked to another user', async () => {
    const other = await world.server.createUser(`${world.username}-other`, PASSWORD)
    await insertIdentity(world.server, other, `${world.subject}-other`)
    const refused = await accept(world.server.newBrowser(), token, { sub: `${world.subject}-other` })
    expect(refused.body).toContain('Already linked')
    expect(refused.body).not.toContain(`${world.username}-other`)
    const browser = world.server.newBrowser()
    expect((await browser.submit(await accept(browser), {})).statusCode).toBe(200)
  })

  test.each(['', 'unknown'])('with the token %j is refused', async (given) => {
    expect((await accept(world.server.newBrowser(), given)).body).toContain('This link is no longer available')
  })
})
