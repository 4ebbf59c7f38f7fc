import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import {
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import {
  callbackUrl,
  HANDOFF,
  insertIdentity,
  LOGIN_ISSUER,
  LOGIN_PAGE,
  passHandoff,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../support/handoff.js'

let server: TestServer
let client: Credentials
let number = 0
let subject: string
let username: string

beforeAll(async () => {
  server = await startTestServer({ ...HANDOFF, LOCAL_SIGN_IN: 'false' })
  client = await server.createClient()
})
afterAll(() => server.close())

async function newPerson(): Promise<void> {
  number += 1
  subject = `person-${number}`
  username = `user-${number}`
  await insertIdentity(server, await server.createUser(username, PASSWORD), subject)
}

describe('the hand-off to a login page', () => {
  test('is the only way, so an app leads straight to it, and from it to the consent page', async () => {
    await newPerson()
    const browser = server.newBrowser()
    const loginPage = await startHandoff(browser, authorizeUrl(client.clientId))
    expect(loginPage.origin + loginPage.pathname).toBe(LOGIN_PAGE)
    expect([...loginPage.searchParams.keys()]).toEqual(['request'])
    const page = await browser.open(callbackUrl(await signAssertion({ nonce: requestIdOf(loginPage), sub: subject })))
    expect(page.body).toContain(username)
    const answer = await browser.submitOnly(page, { decision: 'allow' })
    expect(answer.headers.location).toMatch(`${REDIRECT_URI}?`)
  })

  test('leads without an app to the account', async () => {
    await newPerson()
    const page = await passHandoff(server.newBrowser(), { sub: subject })
    expect(page.url).toBe(`${ISSUER}/account/apps`)
    expect(page.body).toContain(username)
  })

  test('stores the display name without control characters, and notes the sign-in', async () => {
    await newPerson()
    await passHandoff(server.newBrowser(), { sub: subject, name: 'Alice\u202e Example\n' })
    const user = await server.deps.session.users.findById((await findUser())?.userId ?? '')
    expect(user).toMatchObject({ displayName: 'Alice Example', lastSignedInAt: expect.any(Date) })
  })

  const findUser = () => server.deps.handoff.handoff?.identities.findUser({ issuer: LOGIN_ISSUER, subject })

  test('responds with a redirect that tells other sites nothing, and whose address has no assertion', async () => {
    await newPerson()
    const browser = server.newBrowser()
    const nonce = requestIdOf(await startHandoff(browser))
    const answer = await browser.get(callbackUrl(await signAssertion({ nonce, sub: subject })))
    expect(answer.statusCode).toBe(303)
    expect(answer.headers).toMatchObject({
      location: `${ISSUER}/account/apps`,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store'
    })
  })

  test('is sent twice, for example by a double click: the same user continues', async () => {
    await newPerson()
    const browser = server.newBrowser()
    const nonce = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
    await browser.open(callbackUrl(await signAssertion({ nonce, sub: subject })))
    const again = await browser.open(callbackUrl(await signAssertion({ nonce, sub: subject })))
    expect(again.url).toMatch(`${ISSUER}/consent?`)
  })

  test('refuses an identity that is linked to no user, and offers another attempt', async () => {
    const page = await passHandoff(server.newBrowser(), { sub: 'unknown' }, authorizeUrl(client.clientId))
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('No account here')
    expect(page.body).toContain(`${ISSUER}/login/handoff?`)
  })

  test('refuses a disabled user with the same page', async () => {
    await newPerson()
    await server.database.query({
      name: 'test_disable',
      text: 'update users set disabled_at = now() where username = $1',
      values: [username]
    })
    const page = await passHandoff(server.newBrowser(), { sub: subject })
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('No account here')
  })

  test('that the user stopped leads back to the app only if the user chooses so', async () => {
    const browser = server.newBrowser()
    const id = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
    const page = await browser.open(`${ISSUER}/login/handoff/callback?request=${id}&error=access_denied`)
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('You stopped at')
    expect(page.body.replaceAll('&#x3D;', '=')).toContain('error=access_denied')
  })

  test('asks the login page to authenticate again if the app does (prompt=login), and checks auth_time', async () => {
    await newPerson()
    const browser = server.newBrowser()
    const start = authorizeUrl(client.clientId, { prompt: 'login' })
    const loginPage = await startHandoff(browser, start)
    expect(loginPage.searchParams.get('prompt')).toBe('login')
    const old = { nonce: requestIdOf(loginPage), sub: subject, auth_time: Math.floor(Date.now() / 1000) - 400 }
    const page = await browser.open(callbackUrl(await signAssertion(old)))
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('Please sign in again')
    expect((await passHandoff(browser, { sub: subject }, start)).url).toMatch(`${ISSUER}/consent?`)
  })

  test('creates no user by default, and one for each identity with LOGIN_HANDOFF_PROVISIONING=create', async () => {
    const other = await startTestServer({ ...HANDOFF, LOGIN_HANDOFF_PROVISIONING: 'create' })
    try {
      await other.createUser('Alice', PASSWORD)
      const pages = [
        await passHandoff(other.newBrowser(), { sub: 'new', name: 'Alice' }),
        await passHandoff(other.newBrowser(), { sub: 'new', name: 'Alice' })
      ]
      expect(pages.map(({ statusCode }) => statusCode)).toEqual([200, 200])
      expect(pages.map(({ body }) => /<strong><bdi>([^<]*)</.exec(body)?.[1])).toEqual(['Alice-2', 'Alice-2'])
    } finally {
      await other.close()
    }
  })
})

describe('a hand-off that takes long', () => {
  let clock: ReturnType<typeof stopClock>
  beforeAll(() => {
    clock = stopClock()
  })
  afterAll(() => clock.restart())
  afterEach(() => server.redis.flushdb())

  test('starts over from the request of the app after 15 minutes', async () => {
    await newPerson()
    const browser = server.newBrowser()
    const nonce = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
    clock.advance(15 * 60)
    const page = await browser.open(callbackUrl(await signAssertion({ nonce, sub: subject })))
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('Your sign-in was interrupted or has expired.')
    const again = /href="([^"]*\/login\/handoff\?[^"]*)"/
      .exec(page.body)?.[1]
      ?.replace(/&(amp|#x3D);/g, (_, name) => (name === 'amp' ? '&' : '='))
    expect((await passHandoff(browser, { sub: subject }, again)).url).toMatch(`${ISSUER}/consent?`)
  })

  test('starts over if the assertion arrives later than 30 s after its expiry', async () => {
    await newPerson()
    const browser = server.newBrowser()
    const nonce = requestIdOf(await startHandoff(browser, authorizeUrl(client.clientId)))
    const assertion = await signAssertion({ nonce, sub: subject })
    clock.advance(90)
    const page = await browser.open(callbackUrl(assertion))
    expect(page.body).toContain('Your sign-in was interrupted or has expired.')
  })
})
