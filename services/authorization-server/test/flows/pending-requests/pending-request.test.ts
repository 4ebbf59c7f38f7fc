import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { openConsent, postForm, signedInBrowser } from '../../support/pages.js'

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const SIGN_IN = { username: 'alice', password: PASSWORD }

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createUser('mallory', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

const resumeOf = (page: Pick<Page, 'url'>) => new URL(page.url).searchParams.get('resume') ?? ''
const heldLists = () => server.redis.keys('vk:requests:*')
async function held(): Promise<string[]> {
  const lists = (await heldLists()).map((list) => server.redis.lrange(list, 0, -1))
  return (await Promise.all(lists)).flat()
}
async function loseHeld(): Promise<void> {
  const lists = await heldLists()
  if (lists.length > 0) await server.redis.del(...lists)
}
const isConsent = (page: Page) => page.statusCode === 200 && new URL(page.url).pathname === '/consent'
const openLogin = async (browser: Browser, change = {}) => browser.open(authorizeUrl(client.clientId, change))

describe('two tabs of one browser are two requests', () => {
  test('each ends in its own state and scope, in whatever order they are answered', async () => {
    const browser = await signedInBrowser(server)
    const first = await openLogin(browser, { state: 'first', scope: 'files.read' })
    const second = await openLogin(browser, { state: 'second', scope: 'files.read:images' })
    expect(resumeOf(first)).not.toBe(resumeOf(second))
    const answers = [
      await browser.submitOnly(second, { decision: 'allow' }),
      await browser.submitOnly(first, { decision: 'allow' })
    ].map(responseParameters)
    expect(answers.map(({ state }) => state)).toEqual(['second', 'first'])
    const scopes = []
    for (const { code } of answers) scopes.push((await exchange(server, client, code ?? '')).json().scope)
    expect(scopes).toEqual(['files.read:images', 'files.read'])
  })

  test('the very same request opened twice is held twice', async () => {
    const browser = await signedInBrowser(server)
    const [first, second] = [await openLogin(browser), await openLogin(browser)]
    expect(resumeOf(first)).not.toBe(resumeOf(second))
    await browser.submitOnly(first, { decision: 'deny' })
    const allowed = await browser.submitOnly(second, { decision: 'allow' })
    expect(responseParameters(allowed)).toHaveProperty('code')
  })

  test('after signing in in one tab, the form of the other goes on without a password', async () => {
    const browser = server.newBrowser()
    const first = await openLogin(browser, { state: 'first' })
    const second = await openLogin(browser, { state: 'second' })
    expect(isConsent(await browser.submit(first, SIGN_IN))).toBe(true)
    const session = browser.cookies.get('vk_session')
    const other = await browser.submit(second, { username: 'alice', password: 'wrong' })
    expect(isConsent(other)).toBe(true)
    expect(visibleText(other.body)).not.toContain('Please answer again')
    expect(browser.cookies.get('vk_session')).toBe(session)
    const allowed = await browser.submitOnly(other, { decision: 'allow' })
    expect(responseParameters(allowed)).toMatchObject({ state: 'second' })
  })
})

describe('a request belongs to the browser that brought it', () => {
  test.each<{ who: string; browser: () => Promise<Browser> }>([
    { who: 'a browser that was never here', browser: async () => server.newBrowser() },
    {
      who: 'another browser that nobody signed in to',
      browser: async () => {
        const browser = server.newBrowser()
        await browser.open(`${ISSUER}/login`)
        return browser
      }
    },
    { who: 'another browser of the same user', browser: async () => signedInBrowser(server) },
    { who: 'another user’s browser', browser: async () => signedInBrowser(server, 'mallory') }
  ])('$who cannot see or answer it by its address', async ({ browser: open }) => {
    const { browser: owner, page } = await openConsent(server, client.clientId, { change: { state: 'mine' } })
    const before = await held()
    const stranger = await open()
    for (const step of ['/login', '/consent', '/oauth/authorize']) {
      const answer = await stranger.get(page.url.replace('/consent', step))
      expect([200, 303]).toContain(answer.statusCode)
      expect(answer.body).not.toContain(resumeOf(page))
    }
    const seen = await stranger.open(page.url)
    expect(resumeOf(seen)).not.toBe(resumeOf(page))
    const stolen = await postForm(server, stranger, page, { decision: 'allow' }, OWN)
    expect([stolen.statusCode, String(stolen.headers.location)]).toEqual([
      303,
      expect.stringMatching(/^http:\/\/localhost:4000\/oauth\/authorize\?(?!.*resume).*&again=interrupted$/)
    ])
    expect(await held()).toEqual(expect.arrayContaining(before))
    const allowed = await owner.submitOnly(page, { decision: 'allow' })
    expect(responseParameters(allowed)).toMatchObject({ code: expect.any(String), state: 'mine' })
  })
})

describe('a request is held under the very query it came with', () => {
  test.each<{ name: string; tamper: (url: string) => string }>([
    { name: 'a wider scope', tamper: (url) => url.replace('scope=files.read', 'scope=files.read+files.read%3Aimages') },
    { name: 'another state', tamper: (url) => url.replace('state=a+state', 'state=evil') },
    { name: 'the state encoded otherwise', tamper: (url) => url.replace('state=a+state', 'state=a%20state') },
    { name: 'another parameter', tamper: (url) => url.replace('&resume', '&x=1&resume') },
    { name: 'no challenge any more', tamper: (url) => url.replace(/&code_challenge.*(?=&resume)/, '') },
    {
      name: 'the parameters in another order',
      tamper: (url) => url.replace(/response_type=code&(.*)(?=&resume)/, '$1&response_type=code')
    }
  ])('$name with its id is another request', async ({ tamper }) => {
    const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
    const { browser, page } = await openConsent(server, client.clientId, { change: challenge })
    const changed = tamper(page.url)
    expect(changed).not.toBe(page.url)
    const shown = await browser.open(changed)
    expect(isConsent(shown)).toBe(true)
    expect(resumeOf(shown)).not.toBe(resumeOf(page))
    const form = { ...page, body: page.body.replaceAll(/action="[^"]*"/g, `action="${changed}"`), url: changed } as Page
    const answer = await postForm(server, browser, form, { decision: 'allow' }, OWN)
    expect(String(answer.headers.location)).not.toContain('code=vk_ac_')
  })

  test.each([
    '',
    'short',
    'a'.repeat(42),
    'a'.repeat(44),
    `${'a'.repeat(42)}%00`,
    `${'a'.repeat(42)}=`,
    '../x',
    'a'.repeat(43)
  ])('the id "%s" is none: the request starts anew', async (id) => {
    const browser = await signedInBrowser(server)
    const shown = await browser.open(
      `${authorizeUrl(client.clientId).replace('/oauth/authorize', '/consent')}&resume=${id}`
    )
    expect(isConsent(shown)).toBe(true)
    expect(resumeOf(shown)).not.toBe(id)
  })

  test('two ids are none', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const shown = await browser.open(`${page.url}&resume=${resumeOf(page)}`)
    expect(isConsent(shown)).toBe(true)
    expect(resumeOf(shown)).not.toBe(resumeOf(page))
  })
})

describe('how long a request is held', () => {
  test('not at all before its user has signed in', async () => {
    await loseHeld()
    const browser = server.newBrowser()
    const login = await openLogin(browser)
    await browser.submit(login, { username: 'alice', password: 'wrong' })
    await browser.open(login.url)
    await browser.open(login.url.replace('/login', '/consent'))
    expect(await held()).toEqual([])
    await browser.submit(login, SIGN_IN)
    expect(await held()).toHaveLength(1)
  })

  test('an hour, under a hash that needs its id, query, browser and session', async () => {
    const { page } = await openConsent(server, client.clientId)
    expect(await held()).toContainEqual(expect.stringMatching(/^[\w-]{43}$/))
    expect((await held()).join()).not.toContain(resumeOf(page))
    for (const list of await heldLists()) {
      expect(await server.redis.ttl(list)).toBeGreaterThan(3590)
      expect(await server.redis.ttl(list)).toBeLessThanOrEqual(3600)
    }
  })

  test('one that is gone starts anew, with the same query', async () => {
    const browser = server.newBrowser()
    const consent = await browser.submit(await openLogin(browser, { state: 'kept' }), SIGN_IN)
    await loseHeld()
    const asked = await browser.submit(consent, { decision: 'allow' })
    expect(isConsent(asked)).toBe(true)
    const allowed = await browser.submitOnly(asked, { decision: 'allow' })
    expect(responseParameters(allowed)).toMatchObject({ code: expect.any(String), state: 'kept' })
  })

  test('a reload of the consent page keeps it', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const before = await held()
    expect((await browser.open(page.url)).url).toBe(page.url)
    expect(await held()).toEqual(before)
  })

  test('the hundred newest of one user: the one before them starts anew', async () => {
    const { browser, page: oldest } = await openConsent(server, client.clientId)
    const second = await openLogin(browser)
    for (let count = 0; count < 99; count++) await browser.get(authorizeUrl(client.clientId))
    expect(responseParameters(await browser.submitOnly(second, { decision: 'allow' }))).toHaveProperty('code')
    expect(isConsent(await browser.submit(oldest, { decision: 'allow' }))).toBe(true)
  })
})

describe('doubled forms and the way back', () => {
  test('a sign-in form sent twice at once signs in and goes on with the one request', async () => {
    const browser = server.newBrowser()
    const login = await openLogin(browser)
    const answers = await Promise.all([1, 2].map(() => browser.submitOnly(login, SIGN_IN)))
    const onwards = authorizeUrl(client.clientId)
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.location])).toEqual([
      [303, onwards],
      [303, onwards]
    ])
    expect(isConsent(await browser.open(onwards))).toBe(true)
  })

  test('back to the sign-in page after it: straight on to what is asked', async () => {
    const browser = server.newBrowser()
    const login = await openLogin(browser)
    const consent = await browser.submit(login, SIGN_IN)
    const session = browser.cookies.get('vk_session')
    expect(isConsent(await browser.open(login.url))).toBe(true)
    const resent = await browser.submit(login, SIGN_IN)
    expect(isConsent(resent)).toBe(true)
    expect(browser.cookies.get('vk_session')).toBe(session)
    expect(visibleText(resent.body)).toContain('Allow Photo Printer?')
    // The page from before is still good.
    expect(responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))).toHaveProperty('code')
  })
})
