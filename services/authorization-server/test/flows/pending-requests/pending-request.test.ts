import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { deleteKeys } from '../../support/delete-keys.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { addressesOn, visibleText } from '../../support/page-content.js'
import { openConsent, postForm, signedInBrowser, signOut } from '../../support/pages.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

describe('pending requests', () => {
  const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
  const SIGN_IN = { username: 'alice', password: PASSWORD }

  beforeAll(async () => {
    await server.createUser('mallory', PASSWORD)
  })

  const resumeOf = (page: Pick<Page, 'url'>) => new URL(page.url).searchParams.get('resume') ?? ''
  const pendingLists = () => server.redis.keys('vk:requests:*')
  async function pending(): Promise<string[]> {
    const lists = (await pendingLists()).map((list) => server.redis.lrange(list, 0, -1))
    return (await Promise.all(lists)).flat()
  }
  const losePending = () => deleteKeys(server, 'vk:requests:*')
  const isConsent = (page: Page) => page.statusCode === 200 && new URL(page.url).pathname === '/consent'
  const openLogin = async (browser: Browser, change = {}) => browser.open(authorizeUrl(client.clientId, change))

  describe('two tabs of one browser have two pending requests', () => {
    test('each response has its own state and scope, in any order of decisions', async () => {
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

    test('the same request opened twice is stored twice', async () => {
      const browser = await signedInBrowser(server)
      const [first, second] = [await openLogin(browser), await openLogin(browser)]
      expect(resumeOf(first)).not.toBe(resumeOf(second))
      await browser.submitOnly(first, { decision: 'deny' })
      const allowed = await browser.submitOnly(second, { decision: 'allow' })
      expect(responseParameters(allowed)).toHaveProperty('code')
    })

    test('after sign-in in one tab, the sign-in form of the other tab needs no password', async () => {
      const browser = server.newBrowser()
      const first = await openLogin(browser, { state: 'first' })
      const second = await openLogin(browser, { state: 'second' })
      expect(isConsent(await browser.submit(first, SIGN_IN))).toBe(true)
      const session = browser.cookies.get(COOKIES.session)
      const other = await browser.submit(second, { username: 'alice', password: 'wrong' })
      expect(isConsent(other)).toBe(true)
      expect(visibleText(other.body)).not.toContain('Please decide again')
      expect(browser.cookies.get(COOKIES.session)).toBe(session)
      const allowed = await browser.submitOnly(other, { decision: 'allow' })
      expect(responseParameters(allowed)).toMatchObject({ state: 'second' })
    })
  })

  describe('a pending request belongs to its browser and session', () => {
    test.each<{ who: string; browser: () => Promise<Browser> }>([
      { who: 'a browser without cookies', browser: async () => server.newBrowser() },
      {
        who: 'another browser without a session',
        browser: async () => {
          const browser = server.newBrowser()
          await browser.open(`${ISSUER}/login`)
          return browser
        }
      },
      { who: 'another browser of the same user', browser: async () => signedInBrowser(server) },
      { who: 'another user’s browser', browser: async () => signedInBrowser(server, 'mallory') }
    ])('$who cannot see or decide it by its address', async ({ browser: open }) => {
      const { browser: owner, page } = await openConsent(server, client.clientId, { change: { state: 'mine' } })
      const before = await pending()
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
      expect(await pending()).toEqual(expect.arrayContaining(before))
      const allowed = await owner.submitOnly(page, { decision: 'allow' })
      expect(responseParameters(allowed)).toMatchObject({ code: expect.any(String), state: 'mine' })
    })

    test('after its user has signed out and in again, the user is asked again', async () => {
      const { browser, page } = await openConsent(server, client.clientId)
      await signOut(browser)
      await browser.submit(await browser.open(`${ISSUER}/login`), SIGN_IN)
      const seen = await browser.open(page.url)
      expect(isConsent(seen)).toBe(true)
      expect(resumeOf(seen)).not.toBe(resumeOf(page))
    })
  })

  describe('a pending request belongs to its exact query', () => {
    test.each<{ name: string; tamper: (url: string) => string }>([
      {
        name: 'a wider scope',
        tamper: (url) => url.replace('scope=files.read', 'scope=files.read+files.read%3Aimages')
      },
      { name: 'another state', tamper: (url) => url.replace('state=a+state', 'state=evil') },
      { name: 'the state in another encoding', tamper: (url) => url.replace('state=a+state', 'state=a%20state') },
      { name: 'another parameter', tamper: (url) => url.replace('&resume', '&x=1&resume') },
      { name: 'without the challenge', tamper: (url) => url.replace(/&code_challenge.*(?=&resume)/, '') },
      {
        name: 'the parameters in another order',
        tamper: (url) => url.replace(/response_type=code&(.*)(?=&resume)/, '$1&response_type=code')
      }
    ])('$name with its id: the user is asked again', async ({ tamper }) => {
      const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
      const { browser, page } = await openConsent(server, client.clientId, { change: challenge })
      const changed = tamper(page.url)
      expect(changed).not.toBe(page.url)
      const shown = await browser.open(changed)
      expect(isConsent(shown)).toBe(true)
      expect(resumeOf(shown)).not.toBe(resumeOf(page))
      const form = {
        ...page,
        body: page.body.replaceAll(/action="[^"]*"/g, `action="${changed}"`),
        url: changed
      } as Page
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
    ])('the id "%s" is invalid: the user is asked again', async (id) => {
      const browser = await signedInBrowser(server)
      const shown = await browser.open(
        `${authorizeUrl(client.clientId).replace('/oauth/authorize', '/consent')}&resume=${id}`
      )
      expect(isConsent(shown)).toBe(true)
      expect(resumeOf(shown)).not.toBe(id)
    })

    test('two ids are invalid', async () => {
      const { browser, page } = await openConsent(server, client.clientId)
      const shown = await browser.open(`${page.url}&resume=${resumeOf(page)}`)
      expect(isConsent(shown)).toBe(true)
      expect(resumeOf(shown)).not.toBe(resumeOf(page))
    })
  })

  describe('a request is stored as pending', () => {
    test('only after its user has signed in', async () => {
      await losePending()
      const browser = server.newBrowser()
      const login = await openLogin(browser)
      await browser.submit(login, { username: 'alice', password: 'wrong' })
      await browser.open(login.url)
      await browser.open(login.url.replace('/login', '/consent'))
      expect(await pending()).toEqual([])
      await browser.submit(login, SIGN_IN)
      expect(await pending()).toHaveLength(1)
    })

    test('for an hour, as a hash of id, query, browser and session', async () => {
      const { page } = await openConsent(server, client.clientId)
      expect(await pending()).toContainEqual(expect.stringMatching(/^[\w-]{43}$/))
      expect((await pending()).join()).not.toContain(resumeOf(page))
      for (const list of await pendingLists()) {
        expect(await server.redis.ttl(list)).toBeGreaterThan(3590)
        expect(await server.redis.ttl(list)).toBeLessThanOrEqual(3600)
      }
    })

    test('a request that was lost starts again with the same query', async () => {
      const browser = server.newBrowser()
      const consent = await browser.submit(await openLogin(browser, { state: 'kept' }), SIGN_IN)
      await losePending()
      const asked = await browser.submit(consent, { decision: 'allow' })
      expect(isConsent(asked)).toBe(true)
      const allowed = await browser.submitOnly(asked, { decision: 'allow' })
      expect(responseParameters(allowed)).toMatchObject({ code: expect.any(String), state: 'kept' })
    })

    test('also after a reload of the consent page', async () => {
      const { browser, page } = await openConsent(server, client.clientId)
      const before = await pending()
      expect((await browser.open(page.url)).url).toBe(page.url)
      expect(await pending()).toEqual(before)
    })

    test('up to 100 for each user: the oldest starts again', async () => {
      const { browser, page: oldest } = await openConsent(server, client.clientId)
      const second = await openLogin(browser)
      for (let count = 0; count < 99; count++) await browser.get(authorizeUrl(client.clientId))
      expect(responseParameters(await browser.submitOnly(second, { decision: 'allow' }))).toHaveProperty('code')
      expect(isConsent(await browser.submit(oldest, { decision: 'allow' }))).toBe(true)
    })
  })

  describe('forms sent twice, and the Back button', () => {
    test('two concurrent sign-in forms: both redirect to the request', async () => {
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

    test('Back to the sign-in page after sign-in: the consent page', async () => {
      const browser = server.newBrowser()
      const login = await openLogin(browser)
      const consent = await browser.submit(login, SIGN_IN)
      const session = browser.cookies.get(COOKIES.session)
      expect(isConsent(await browser.open(login.url))).toBe(true)
      const resent = await browser.submit(login, SIGN_IN)
      expect(isConsent(resent)).toBe(true)
      expect(browser.cookies.get(COOKIES.session)).toBe(session)
      expect(visibleText(resent.body)).toContain('Allow Photo Printer?')
      // The earlier page is still valid.
      expect(responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))).toHaveProperty('code')
    })
  })
})

describe('a browser without cookies', () => {
  /** Follows redirects like a browser that keeps no cookies, up to the number at which browsers stop. */
  async function openWithoutCookies(url: string): Promise<{ page: Page; redirects: number }> {
    for (let redirects = 0; redirects <= 20; redirects++) {
      const page = await server.newBrowser().get(url)
      if (page.statusCode !== 303) return { page, redirects }
      url = String(page.headers.location)
    }
    throw new Error(`redirected without end: ${url}`)
  }

  const pathOf = (page: Page) => new URL(page.url).pathname

  test.each(['/oauth/authorize', '/login', '/consent'])(
    '%s shows a page about cookies to a browser that keeps none, and does not redirect for ever',
    async (step) => {
      const url = authorizeUrl(client.clientId)
      const { page, redirects } = await openWithoutCookies(url.replace('/oauth/authorize', step))
      expect(page.statusCode).toBe(400)
      expect(visibleText(page.body)).toContain('Your browser did not save our cookie')
      expect(redirects).toBeLessThan(5)
      const [link = ''] = addressesOn(page.body).filter((address) => address.includes('/oauth/'))
      expect(link.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')).toBe(url)
    }
  )

  test('a browser without cookies stores nothing', async () => {
    const before = await server.redis.dbsize()
    await openWithoutCookies(authorizeUrl(client.clientId))
    expect(await server.redis.dbsize()).toBe(before)
  })

  test('errors of the request are reported to a browser without cookies, too', async () => {
    const { page } = await openWithoutCookies(authorizeUrl('unknown'))
    expect(visibleText(page.body)).toContain('This app is not known here')
    const url = `${authorizeUrl(client.clientId, { scope: undefined })}&again=no_cookie`
    expect(String((await server.newBrowser().get(url)).headers.location)).toContain('error=invalid_scope')
  })

  test.each<{ step: string; browser: () => Promise<Browser> }>(
    ['/login', '/consent'].flatMap((step) => [
      { step, browser: async () => server.newBrowser() },
      { step, browser: () => signedInBrowser(server) }
    ])
  )('an address of $step copied from another browser starts the request again', async ({ step, browser: start }) => {
    const copied = (await server.newBrowser().open(authorizeUrl(client.clientId))).url.replace('/login', step)
    const browser = await start()
    const page = await browser.open(copied)
    expect(page.statusCode).toBe(200)
    expect(pathOf(page)).toBe(browser.cookies.has(COOKIES.session) ? '/consent' : '/login')
  })

  test('parameters of the app named resume and again are ignored', async () => {
    const page = await server.newBrowser().open(`${authorizeUrl(client.clientId)}&resume=x&again=x`)
    expect([page.statusCode, pathOf(page)]).toEqual([200, '/login'])
    expect(page.url.startsWith(`${ISSUER}/login?`)).toBe(true)
  })
})
