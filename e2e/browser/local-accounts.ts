import { afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { createVisits } from '../support/visits.js'
import { headingOf, press, signIn } from '../support/walk.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

const PASSWORD = 'gravel walks at dawn'

export function localAccounts(world: BrowserWorld): void {
  let stack: Stack
  let at: Addresses
  let browser: Browser
  const visits = createVisits(() => ({ browser, origins: [at.issuer] }))

  beforeAll(() => {
    ;({ stack, at, browser } = world)
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  test('an invited user sets a password, sees the devices and changes the password', async () => {
    const { url } = await stack.valetkey(['users', 'create', 'bob'])
    const page = await visits.open()
    await page.goto(url ?? '')
    expect([await headingOf(page), page.url()]).toEqual(['Welcome', `${at.issuer}/account-link`])
    await page.getByLabel('New password').fill(PASSWORD)
    await press(page, 'Set password and sign in')
    expect(page.url()).toBe(`${at.issuer}/account/apps`)
    await page.goto(`${at.issuer}/account/sessions`)
    expect(await page.getByRole('listitem').count()).toBe(1)
    expect(await page.getByRole('main').textContent()).toMatch(/This browser.*Link from the operator/s)
    await page.goto(`${at.issuer}/account/password`)
    await page.getByLabel('New password').fill(`${PASSWORD} again`)
    await press(page, 'Save password')
    expect(await page.getByRole('status').textContent()).toContain('Password saved.')
  })

  test('a reset link, with a password that is refused first', async () => {
    const { url } = await stack.valetkey(['users', 'reset-link', at.username])
    const page = await visits.open({ viewport: { width: 360, height: 640 }, colorScheme: 'dark', locale: 'ar' })
    await page.goto(url ?? '')
    await page.locator('#new-password').fill('123456789012345')
    await Promise.all([page.waitForEvent('load'), page.locator('button[type=submit]').click()])
    expect(await page.getByRole('alert').count()).toBe(1)
    await page.goto(`${at.issuer}/account-link?token=unknown`)
    expect(await page.locator('form').count()).toBe(0)
  })

  test('the button shows and hides the password, and the form sends a password field', async () => {
    const page = await visits.open()
    await page.goto(`${at.issuer}/login`)
    const button = page.locator('.show-password')
    const field = page.locator('#password')
    await field.fill('what I typed')
    const state = async () => [await button.textContent(), await field.getAttribute('type'), await field.inputValue()]
    expect(await state()).toEqual(['Show password', 'password', 'what I typed'])
    await button.click()
    expect(await state()).toEqual(['Hide password', 'text', 'what I typed'])
    await button.click()
    expect(await state()).toEqual(['Show password', 'password', 'what I typed'])
    await signIn(page, at)
    expect(await headingOf(page)).toBe('Connected apps')
  })

  test('without scripts there is no such button, and sign-in works', async () => {
    const page = await visits.open({ javaScriptEnabled: false })
    await page.goto(`${at.issuer}/login`)
    expect(await page.getByRole('button').allTextContents()).toEqual(['Sign in'])
    await signIn(page, at)
    expect(page.url()).toBe(`${at.issuer}/account/apps`)
  })
}
