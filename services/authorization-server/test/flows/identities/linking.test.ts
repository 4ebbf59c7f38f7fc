import { describe, expect, test } from '@jest/globals'
import { changesIn } from '../../support/administration.js'
import { ISSUER } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { PASSWORD } from '../../support/flow.js'
import {
  callbackUrl,
  HANDOFF,
  insertIdentity,
  LOGIN_ISSUER,
  passHandoff,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../support/handoff.js'
import { fromForm, signedInBrowser } from '../../support/pages.js'
import { serverWithUser } from '../../support/server-with-user.js'

const SIGN_INS = `${ISSUER}/account/sign-ins`
const LINK = `${ISSUER}/login/handoff?purpose=link`

const world = serverWithUser(HANDOFF)

const identities = () => world.server.deps.signIns.identities.list(world.userId)
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
    expect(await world.server.deps.session.users.findById(world.userId)).toMatchObject({ displayName: undefined })
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
    expect(await world.server.deps.signIns.identities.list(victim)).toHaveLength(1)
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
