import { afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { scrollsSideways } from '../support/chromium.js'
import { knownFiles } from '../support/known-files.js'
import { createVisits } from '../support/visits.js'
import { connect, headingOf, press, signIn, tabTo } from '../support/walk.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

export function demoClient(world: BrowserWorld): void {
  let stack: Stack
  let at: Addresses
  let browser: Browser
  const visits = createVisits(() => ({ browser, origins: [at.issuer, at.demoUrl] }))

  beforeAll(() => {
    ;({ stack, at, browser } = world)
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  async function expectFiles(page: Page): Promise<void> {
    expect(await headingOf(page)).toBe('Your files')
    const rows = await page.locator('tbody tr').allInnerTexts()
    expect(rows).toHaveLength(knownFiles.length)
    for (const { name, mimeType, size, shownSize } of knownFiles) {
      const row = page.locator('tbody tr').filter({ has: page.getByText(name, { exact: true }) })
      expect(await row.locator('.type').textContent()).toBe(mimeType)
      expect(await row.locator('.number').textContent()).toBe(shownSize)
      expect(await row.locator('.number [title]').getAttribute('title')).toBe(`${size.toLocaleString('en-GB')} bytes`)
    }
  }

  test('signs in, allows, and sees the files of the imported folder with their sizes; no token reaches the browser', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    expect(new URL(page.url()).origin).toBe(at.issuer)
    await signIn(page, at)
    expect(await headingOf(page)).toBe('Allow Photo Printer to use your Files?')
    expect(await page.getByRole('main').textContent()).toContain('files.read')
    await press(page, 'Allow')
    await expectFiles(page)
    const cookies = await page.context().cookies()
    expect(cookies.every(({ httpOnly }) => httpOnly)).toBe(true)
    expect((await page.content()) + page.url() + JSON.stringify(cookies)).not.toMatch(/vk_(ac|at|rt)_/)
  })

  test('denies, reads that nothing was shared, and may try again', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    await signIn(page, at)
    await press(page, 'Deny')
    expect(await headingOf(page)).toBe('You did not allow access')
    expect(await page.getByRole('main').textContent()).toContain('Nothing was shared')
    await page.goto(`${at.demoUrl}/files`)
    expect(await page.getByRole('table').count()).toBe(0)
    await connect(page, at.demoUrl)
    await press(page, 'Allow')
    await expectFiles(page)
  })

  test('enters a wrong password, reads what to check, and keeps the user name and the request', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    await signIn(page, { username: at.username, password: 'not it' })
    expect(await page.getByRole('alert').textContent()).toMatch(/user name or the password is wrong.*Caps Lock/s)
    expect(await page.getByLabel('User name').inputValue()).toBe(at.username)
    expect(await page.getByLabel('Password').inputValue()).toBe('')
    await page.getByLabel('Password').fill(at.password)
    await press(page, 'Sign in')
    await press(page, 'Allow')
    await expectFiles(page)
  })

  test('returns later: still connected; after Disconnect is asked for consent, but not for the password', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    await signIn(page, at)
    await press(page, 'Allow')
    await page.goto(at.demoUrl)
    await page.getByRole('link', { name: 'See your files' }).click()
    await expectFiles(page)
    await press(page, 'Disconnect')
    expect(await page.getByRole('status').textContent()).toContain('disconnected')
    await press(page, 'Connect your files')
    expect(await headingOf(page)).toBe('Allow Photo Printer to use your Files?')
    await press(page, 'Allow')
    await expectFiles(page)
  })

  test('goes back after Allow and can continue', async () => {
    const page = await visits.open()
    await connect(page, at.demoUrl)
    await signIn(page, at)
    await press(page, 'Allow')
    await expectFiles(page)
    await page.goBack()
    expect(await headingOf(page)).toBe('Allow Photo Printer to use your Files?')
    // The app has already received the response to that request. It shows that, and offers to start again.
    await press(page, 'Allow')
    expect(await headingOf(page)).toBe('This page cannot be used again')
    await press(page, 'Connect your files')
    await press(page, 'Allow')
    await expectFiles(page)
  })

  test('connects with the keyboard only and always sees the focus', async () => {
    const page = await visits.open()
    await page.goto(at.demoUrl)
    await tabTo(page, 'Connect your files')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${at.issuer}/**`)
    await tabTo(page, 'User name')
    await page.keyboard.type(at.username)
    await tabTo(page, 'Password')
    await page.keyboard.type(at.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Allow Photo Printer to use your Files?' }).waitFor()
    await tabTo(page, 'Allow')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${at.demoUrl}/files`)
    await expectFiles(page)
  })

  test('connects without JavaScript', async () => {
    const page = await visits.open({ javaScriptEnabled: false })
    await connect(page, at.demoUrl)
    await signIn(page, at)
    await press(page, 'Allow')
    await expectFiles(page)
  })

  test('no page scrolls horizontally on a phone 360 pixels wide', async () => {
    const page = await visits.open({ viewport: { width: 360, height: 640 } })
    const sideways: string[] = []
    const look = async () => {
      if (await scrollsSideways(page)) sideways.push(await headingOf(page))
    }
    await page.goto(`${at.issuer}/oauth/authorize?client_id=${'unknown'.repeat(20)}`)
    await look()
    await page.goto(`${at.issuer}/errors/unsupported_response_type`)
    await look()
    await page.goto(at.demoUrl)
    await look()
    await press(page, 'Connect your files')
    await signIn(page, { username: 'm'.repeat(100), password: 'not it' })
    await look()
    await signIn(page, at)
    await look()
    await press(page, 'Deny')
    await look()
    await press(page, 'Connect your files')
    await press(page, 'Allow')
    await look()
    expect(sideways).toEqual([])
  })

  // The test has its own user, because a missing demo user is created again.
  test('has the same account and connection after a stop and a start', async () => {
    const carol = { username: 'carol', password: 'correct horse battery staple' }
    const made = await stack.valetkey(['users', 'create', carol.username, '--password-stdin'], carol.password)
    await stack.valetkeyFiles(['import', '--owner', made.user_id ?? '', world.files])
    await stack.stop()
    expect(await stack.start()).toEqual(at)
    const page = await visits.open()
    await connect(page, at.demoUrl)
    await signIn(page, carol)
    await press(page, 'Allow')
    await expectFiles(page)
  })
}
