import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { injectAxe, violationsOn } from './support/axe.js'
import { launchChromium, scrollsSideways } from './support/chromium.js'
import { makeKnownFiles } from './support/known-files.js'
import { createVisits } from './support/visits.js'
import { connect, headingOf, press, signIn } from './support/walk.js'
import { type Addresses, createStack, type Stack } from './system/stack.mjs'

const PHONE = { viewport: { width: 360, height: 740 } }

describe('sign-in with the demo provider of npm start, in Chromium', () => {
  let files: ReturnType<typeof makeKnownFiles>
  let stack: Stack
  let at: Addresses & { demoProviderUrl?: string }
  let browser: Browser
  const origins = () => [at.issuer, at.demoUrl, at.demoProviderUrl ?? '']
  const visits = createVisits(() => ({ browser, origins: origins() }))

  beforeAll(async () => {
    files = makeKnownFiles()
    stack = await createStack({ files: files.directory, demoProvider: true })
    ;[at, browser] = await Promise.all([stack.start(), launchChromium()])
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await stack?.dispose()
    files?.remove()
  })

  async function follow(page: Page, link: string): Promise<void> {
    const loaded = page.waitForEvent('load')
    await page.getByRole('link', { name: link, exact: true }).click()
    await loaded
  }

  /** Signs in from the sign-in page through the provider. */
  async function signInAtProvider(page: Page): Promise<void> {
    await follow(page, 'Continue with Demo provider')
    await press(page, 'Sign in as Casey')
  }

  async function openAccount(page: Page): Promise<void> {
    await page.goto(`${at.issuer}/account/apps`)
    expect(await page.getByRole('main').textContent()).toContain('signed in as casey')
  }

  test('goes from the app through provider and consent back to the app; the password form stays first', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    const labels = await page
      .locator('input:visible, main a.button')
      .evaluateAll((all) => all.map(({ id, textContent }) => id || textContent))
    expect(labels).toEqual(['username', 'password', 'Continue with Demo provider'])
    await signInAtProvider(page)
    expect(await headingOf(page)).toBe('Allow Photo Printer to use your Files?')
    await press(page, 'Allow')
    expect(new URL(page.url()).origin).toBe(at.demoUrl)
    expect(await headingOf(page)).toBe('Your files')
    await openAccount(page)
  })

  test('finds the user again after a second start, and puts the last way first', async () => {
    const page = await visits.open()
    await page.goto(`${at.issuer}/login`)
    await signInAtProvider(page)
    await openAccount(page)
    await stack.stop()
    at = await stack.start()
    await page.context().clearCookies({ name: /vk_session/ })
    await page.goto(`${at.issuer}/login`)
    expect(await page.locator('main a.button').first().getAttribute('class')).toContain('button-main')
    await signInAtProvider(page)
    await openAccount(page)
    const { users } = await stack.valetkey<{ users: { username: string }[] }>(['users', 'list'])
    expect(users.map(({ username }) => username)).toEqual(['alice', 'casey'])
  })

  test('Back and Forward after sign-in continue the request', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    await signInAtProvider(page)
    await page.goBack()
    await page.goBack()
    await page.goForward()
    await page.goForward()
    expect(await headingOf(page)).toBe('Allow Photo Printer to use your Files?')
  })

  test('signs out here and at the provider, and returns to the sign-in page', async () => {
    const page = await visits.open()
    await page.goto(`${at.issuer}/login`)
    await signInAtProvider(page)
    await openAccount(page)
    await press(page, 'Sign out here and at Demo provider')
    expect(new URL(page.url()).origin).toBe(at.demoProviderUrl)
    await press(page, 'Sign out here, too')
    expect(page.url()).toBe(`${at.issuer}/login?done=signed_out`)
    expect(await page.getByRole('status').textContent()).toContain('You are signed out')
    // The provider has ended its session, too: it shows its sign-in page.
    await follow(page, 'Continue with Demo provider')
    expect(await headingOf(page)).toBe('Demo provider')
  })

  test('a password user is offered no sign-out at a provider', async () => {
    const page = await visits.open()
    await page.goto(`${at.issuer}/login`)
    await signIn(page, at)
    await page.goto(`${at.issuer}/account/apps`)
    expect(await page.getByRole('button', { name: /Demo provider/ }).count()).toBe(0)
  })

  /** Leaves by the link, and returns as if the provider had responded with this error. */
  async function failWith(page: Page, error: string): Promise<void> {
    const start = (await page.locator('main a.button').first().getAttribute('href')) ?? ''
    const left = await page.request.get(start, { maxRedirects: 0 })
    const { searchParams } = new URL(left.headers().location ?? '')
    const parameters = { error, state: searchParams.get('state') ?? '', iss: at.demoProviderUrl ?? '' }
    await page.goto(`${searchParams.get('redirect_uri')}?${new URLSearchParams(parameters)}`)
  }

  test.each([
    { error: 'access_denied', colorScheme: 'light', locale: 'en', screen: {} },
    { error: 'access_denied', colorScheme: 'dark', locale: 'ar', screen: PHONE },
    { error: 'temporarily_unavailable', colorScheme: 'dark', locale: 'de', screen: {} },
    { error: 'invalid_scope', colorScheme: 'light', locale: 'de', screen: PHONE },
    { error: 'invalid_grant', colorScheme: 'light', locale: 'ar', screen: {} }
  ] as const)(
    'the page for $error has no accessibility problem in $locale, $colorScheme, and leads on',
    async ({ error, colorScheme, locale, screen }) => {
      const page = await visits.open({ colorScheme, locale, ...screen })
      await connect(page, at.demoUrl)
      await failWith(page, error)
      await injectAxe(page)
      expect(await violationsOn(page)).toEqual([])
      expect(await scrollsSideways(page)).toBe(false)
      // The last link is the way back to the app.
      await page.locator('main a.button').last().click()
      await page.waitForURL(`${at.demoUrl}/**`)
      expect(await headingOf(page)).toBe('You did not allow access')
    }
  )

  test.each(['light', 'dark'] as const)(
    'chooser and account page have no accessibility problem, %s',
    async (colorScheme) => {
      const page = await visits.open({ colorScheme, ...PHONE })
      await page.goto(`${at.issuer}/login`)
      await injectAxe(page)
      expect(await violationsOn(page)).toEqual([])
      await signInAtProvider(page)
      await openAccount(page)
      await injectAxe(page)
      expect(await violationsOn(page)).toEqual([])
      expect(await scrollsSideways(page)).toBe(false)
    }
  )
})
