import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from './support/chromium.js'
import { makeKnownFiles } from './support/known-files.js'
import { type RegisteredApp, registerApp } from './support/registered-app.js'
import { createVisits } from './support/visits.js'
import { headingOf, press } from './support/walk.js'
import { type Addresses, createStack, type Stack } from './system/stack.mjs'

describe('a provider as the only way to sign in (LOCAL_SIGN_IN=false), in Chromium', () => {
  let files: ReturnType<typeof makeKnownFiles>
  let stack: Stack
  let at: Addresses & { demoProviderUrl?: string }
  let browser: Browser
  let album: RegisteredApp
  const visits = createVisits(() => ({ browser, origins: [at.issuer, at.demoProviderUrl ?? ''] }))

  beforeAll(async () => {
    files = makeKnownFiles()
    const environment = { LOCAL_SIGN_IN: 'false' }
    stack = await createStack({ files: files.directory, demoProvider: true, environment })
    ;[at, browser] = await Promise.all([stack.start(), launchChromium()])
    const options = ['--public', '--scope', 'files.read']
    album = await registerApp(stack, at, { name: 'Album', redirectUri: 'com.example.album:/signed-in', options })
  })

  // The console names a form that the policy has blocked.
  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await stack?.dispose()
    files?.remove()
  })

  const atProvider = (page: Page) => page.waitForURL(`${at.demoProviderUrl}/**`)

  /** Opens a page that needs a user, and signs in at the provider. */
  async function openSignedIn(page: Page, url: string): Promise<void> {
    await page.goto(url)
    await atProvider(page)
    await press(page, 'Sign in as Casey')
    await page.waitForURL(`${at.issuer}/**`)
  }

  test('the consent page of an app with a private-use scheme: "Use another account" leads to the provider', async () => {
    const page = await visits.open()
    await openSignedIn(page, album.request())
    expect(await headingOf(page)).toBe('Allow Album to use your Files?')
    await page.getByRole('button', { name: 'Use another account', exact: true }).click()
    await atProvider(page)
    await press(page, 'Sign in as Casey')
    expect(await headingOf(page)).toBe('Allow Album to use your Files?')
  })

  test('a form of the account, sent after the session has ended, leads to the provider', async () => {
    const page = await visits.open()
    await openSignedIn(page, `${at.issuer}/account/apps`)
    await page.context().clearCookies({ name: /vk_session/ })
    const left = page.waitForRequest((request) => request.url().startsWith(at.demoProviderUrl ?? ''))
    await page.locator('form[action$="/logout"] button').first().click()
    await left
    // The provider still knows the user.
    await page.getByRole('heading', { name: 'Connected apps' }).waitFor()
    expect(await page.getByRole('main').textContent()).toContain('casey')
  })

  test('Back at the provider returns to the page before the sign-in', async () => {
    const page = await visits.open()
    await page.goto(`${at.issuer}/errors/invalid_grant`)
    const before = page.url()
    await page.goto(`${at.issuer}/account/apps`)
    await atProvider(page)
    await page.goBack()
    expect(page.url()).toBe(before)
  })

  test('without scripts the browser reaches the provider', async () => {
    const page = await visits.open({ javaScriptEnabled: false })
    await page.goto(album.request())
    await atProvider(page)
  })
})
