import { afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createVisits } from '../support/visits.js'
import { connect, headingOf, press, signIn, tabTo } from '../support/walk.js'
import type { Addresses } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

/** The user of these tests. Her only app is the demo client. */
const amy = { username: 'amy', password: 'correct horse battery staple' }

export function connectedApps(world: BrowserWorld): void {
  let at: Addresses
  let browser: Browser
  const visits = createVisits(() => ({ browser, origins: [at.issuer, at.demoUrl] }))

  beforeAll(async () => {
    ;({ at, browser } = world)
    await world.stack.valetkey(['users', 'create', amy.username, '--password-stdin'], amy.password)
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  /** A browser in which amy is signed in and the demo client shows her files. */
  async function connected(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await visits.open(options)
    await connect(page, at.demoUrl)
    await signIn(page, amy)
    await press(page, 'Allow')
    await expectFiles(page)
    return page
  }

  async function expectFiles(page: Page): Promise<void> {
    await page.goto(`${at.demoUrl}/files`)
    expect(await headingOf(page)).toBe('Your files')
  }

  async function expectNoFiles(page: Page): Promise<void> {
    await page.goto(`${at.demoUrl}/files`)
    expect(await headingOf(page)).toBe('Access has ended')
    expect(await page.getByRole('main').textContent()).toContain('Photo Printer may no longer see your files')
    expect(await page.getByRole('table').count()).toBe(0)
  }

  async function openApps(page: Page): Promise<void> {
    await page.goto(`${at.issuer}/account/apps`)
    expect(await headingOf(page)).toBe('Connected apps')
  }

  async function askBeforeEnd(page: Page): Promise<void> {
    const loaded = page.waitForEvent('load')
    await page.getByRole('link', { name: 'End access of Photo Printer' }).click()
    await loaded
  }

  async function endAccess(page: Page): Promise<void> {
    await askBeforeEnd(page)
    expect(await headingOf(page)).toBe('End access of Photo Printer?')
    await press(page, 'End access')
  }

  const appNames = (page: Page) => page.getByRole('main').getByRole('listitem').getByRole('heading').allTextContents()

  test('End access: the app is refused at its next request in every browser, reports it, and can be connected again', async () => {
    const here = await connected()
    const there = await connected()
    await openApps(here)
    expect(await appNames(here)).toEqual(['Photo Printer'])
    await endAccess(here)
    expect(await here.getByRole('status').textContent()).toContain('Photo Printer no longer has access')
    expect(await appNames(here)).toEqual([])
    await expectNoFiles(here)
    await expectNoFiles(there)
    await press(here, 'Connect your files')
    await press(here, 'Allow')
    await expectFiles(here)
  })

  test('End access in one browser, then in another that still lists the app: the page says that it was ended before', async () => {
    const here = await connected()
    const there = await visits.open()
    await there.goto(`${at.issuer}/login`)
    await signIn(there, amy)
    expect(await appNames(there)).toEqual(['Photo Printer'])
    await askBeforeEnd(there)
    await openApps(here)
    await endAccess(here)
    await press(there, 'End access')
    expect(await there.getByRole('status').textContent()).toContain('Photo Printer no longer has access')
  })

  test('Sign out everywhere: the other browser must sign in again, and the app keeps its access', async () => {
    const here = await connected()
    const there = await visits.open()
    await there.goto(`${at.issuer}/login`)
    await signIn(there, amy)
    await press(there, 'Sign out everywhere')
    expect(await there.getByRole('status').textContent()).toContain('You are signed out everywhere')
    await here.goto(`${at.issuer}/account/apps`)
    expect(await headingOf(here)).toBe('Sign in')
    await expectFiles(here)
  })

  test('after Sign out everywhere in another browser, End access requires a sign-in first', async () => {
    const here = await connected()
    await openApps(here)
    const there = await visits.open()
    await there.goto(`${at.issuer}/login`)
    await signIn(there, amy)
    await press(there, 'Sign out everywhere')
    await askBeforeEnd(here)
    expect(await headingOf(here)).toBe('Sign in')
    await signIn(here, amy)
    expect(await appNames(here)).toEqual(['Photo Printer'])
    await expectFiles(here)
  })

  test('Keep access leads back to the list, and ends nothing', async () => {
    const page = await connected()
    await openApps(page)
    await askBeforeEnd(page)
    await page.getByRole('link', { name: 'Keep access' }).click()
    expect(await appNames(page)).toEqual(['Photo Printer'])
    await expectFiles(page)
  })

  test('the consent page links to the connected apps', async () => {
    const page = await connected()
    await page.goto(`${at.demoUrl}/connect`)
    await page.getByRole('link', { name: 'Connected apps' }).click()
    expect(await appNames(page)).toEqual(['Photo Printer'])
  })

  test('a user ends an app and signs out with the keyboard only, with a visible focus', async () => {
    const page = await connected()
    await openApps(page)
    await tabTo(page, 'End access')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'End access of Photo Printer?' }).waitFor()
    await tabTo(page, 'End access')
    await page.keyboard.press('Enter')
    await page.getByRole('status').waitFor()
    expect(await appNames(page)).toEqual([])
    await tabTo(page, 'Sign out')
    await page.keyboard.press('Enter')
    await page.getByText('You are signed out in this browser').waitFor()
    await expectNoFiles(page)
  })

  test('a user ends an app and signs out without JavaScript', async () => {
    const page = await connected({ javaScriptEnabled: false })
    await openApps(page)
    await endAccess(page)
    expect(await appNames(page)).toEqual([])
    await press(page, 'Sign out')
    expect(await page.getByRole('status').textContent()).toContain('You are signed out in this browser')
    await expectNoFiles(page)
  })
}
