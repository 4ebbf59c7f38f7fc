import { describe, expect, test } from '@jest/globals'
import { hashId } from '../../../src/browser/session/random-id.js'
import { createRecordAuthentication } from '../../../src/platform/encryption/authenticate-records.js'
import { ISSUER } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { PASSWORD } from '../../support/flow.js'
import {
  callbackUrl,
  HANDOFF,
  insertIdentity,
  passHandoff,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../support/handoff.js'
import { postForm, signedInBrowser, signOut } from '../../support/pages.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { serverWithUser } from '../../support/server-with-user.js'

const SIGN_INS = `${ISSUER}/account/sign-ins`
const LINK = `${ISSUER}/login/handoff?purpose=link`

const world = serverWithUser(HANDOFF)

const identities = () => world.server.deps.signIns.identities.list(world.userId)

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
    expect((await postForm(world.server, browser, page, { csrf_token: 'x' }, { origin: ISSUER })).statusCode).toBe(303)
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
    pauses.next = { before: 'link_own_identity', run: () => world.server.deps.session.users.endSessions(world.userId) }
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
