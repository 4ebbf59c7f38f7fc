import { afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { addVirtualAuthenticator, type VirtualAuthenticator } from '../support/virtual-authenticator.js'
import { createVisits } from '../support/visits.js'
import { headingOf, press, signIn } from '../support/walk.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

const WITHOUT_AUTOFILL =
  'if (window.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false'

export function passkeys(world: BrowserWorld): void {
  let stack: Stack
  let at: Addresses
  let browser: Browser
  let users = 0
  const visits = createVisits(() => ({ browser, origins: [at.issuer, at.demoUrl] }))

  beforeAll(() => {
    ;({ stack, at, browser } = world)
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  /** `autofill`: the browser offers passkeys in the field of the user name. */
  type PasskeyBrowser = BrowserContextOptions & { autofill?: boolean }

  /** The device of these tests would choose an offered passkey at once, so most of them use a browser that offers none. */
  async function openBrowser({ autofill = false, ...options }: PasskeyBrowser = {}): Promise<Page> {
    const page = await visits.open(options)
    if (!autofill) await page.addInitScript({ content: WITHOUT_AUTOFILL })
    return page
  }

  type Visitor = { page: Page; device: VirtualAuthenticator; username: string }

  /** A new user on the page of the passkeys, with a device that can store some. */
  async function visitor({ autofill = false, ...options }: PasskeyBrowser = {}): Promise<Visitor> {
    const account = { username: `user-${++users}`, password: 'a long enough password' }
    await stack.valetkey(['users', 'create', account.username, '--password-stdin'], account.password)
    const page = await openBrowser({ autofill, ...options })
    const device = await addVirtualAuthenticator(page)
    await page.goto(`${at.issuer}/account/passkeys`)
    await signIn(page, account)
    expect(await headingOf(page)).toBe('Passkeys')
    return { page, device, username: account.username }
  }

  async function add(page: Page, name: string): Promise<void> {
    await page.getByLabel('Name', { exact: true }).fill(name)
    await press(page, 'Add passkey')
    expect(await noticeOf(page)).toContain('You can now sign in with the passkey')
  }

  /** Opens the sign-in page as after signing out. */
  async function openSignIn(page: Page): Promise<void> {
    await page.context().clearCookies()
    await page.goto(`${at.issuer}/login`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  }

  const noticeOf = async (page: Page) => (await page.locator('.notice').first().textContent()) ?? ''
  const names = (page: Page) => page.getByRole('main').getByRole('heading', { level: 2 }).allTextContents()

  test('a user adds a passkey, renames it, signs in without a user name, and removes it', async () => {
    const { page, username } = await visitor()
    await add(page, 'Laptop')
    expect(await names(page)).toEqual(['Laptop', 'Add a passkey'])
    await page.getByText('Rename', { exact: true }).click()
    await page.getByLabel('New name').fill('Old laptop')
    await press(page, 'Save name')
    expect(await names(page)).toEqual(['Old laptop', 'Add a passkey'])
    await openSignIn(page)
    await press(page, 'Sign in with a passkey')
    expect(await page.getByRole('main').textContent()).toContain(`You are signed in as ${username}`)
    await page.goto(`${at.issuer}/account/passkeys`)
    expect(await page.getByText('Not used yet').count()).toBe(0)
    await press(page, 'Remove Old laptop')
    expect(await noticeOf(page)).toContain('The passkey no longer works here')
    expect(await names(page)).toEqual(['Add a passkey'])
    await openSignIn(page)
    await press(page, 'Sign in with a passkey')
    expect(await noticeOf(page)).toContain('The passkey was not accepted')
  })

  test('the browser offers the passkey in the field of the user name', async () => {
    const { page, username } = await visitor({ autofill: true })
    await add(page, 'Laptop')
    await page.context().clearCookies()
    await page.goto(`${at.issuer}/login`)
    // The device of this test chooses the passkey that is offered without waiting for a click.
    await page.waitForURL(`${at.issuer}/account/apps`)
    expect(await page.getByRole('main').textContent()).toContain(`You are signed in as ${username}`)
  })

  /** A challenge is valid for five minutes. */
  const MORE_THAN_A_CHALLENGE = '06:00'

  const challengesOf = (page: Page) => {
    const asked: string[] = []
    page.on('response', (response) => {
      if (response.url().endsWith('/options')) asked.push(`${response.status()} ${new URL(response.url()).pathname}`)
    })
    return asked
  }

  test('the button asks for another challenge, so a page that was open for long signs the user in at once', async () => {
    const { page, username } = await visitor()
    const asked = challengesOf(page)
    await add(page, 'Laptop')
    // The challenge of the page seems to be over: the service accepts no response to it.
    await page.route(`${at.issuer}/login`, async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replace(/challenge&quot;:&quot;.{8}/, 'challenge&quot;:&quot;AAAAAAAA')
      await route.fulfill({ response, body })
    })
    await openSignIn(page)
    expect(await page.locator('form[data-passkey]').getAttribute('data-options')).toContain('"challenge":"AAAAAAAA')
    await press(page, 'Sign in with a passkey')
    expect(await page.getByRole('main').textContent()).toContain(`You are signed in as ${username}`)
    expect(asked).toEqual(['200 /account/passkeys/options', '200 /login/passkey/options'])
  })

  test('the offer in the field of the user name is renewed while the page is open', async () => {
    const page = await openBrowser({ autofill: true })
    await page.clock.install()
    const asked = challengesOf(page)
    await addVirtualAuthenticator(page)
    await page.goto(`${at.issuer}/login`)
    const renewed = page.waitForResponse((response) => response.url().endsWith('/login/passkey/options'))
    await page.clock.fastForward(MORE_THAN_A_CHALLENGE)
    expect((await renewed).status()).toBe(200)
    expect(asked).toEqual(['200 /login/passkey/options'])
    await signIn(page, at)
    expect(await headingOf(page)).toBe('Connected apps')
  })

  test('the same device twice: nothing is added', async () => {
    const { page } = await visitor()
    await add(page, 'Laptop')
    await page.getByLabel('Name', { exact: true }).fill('Again')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByText('This device already has a passkey').waitFor()
    await page.reload()
    expect(await names(page)).toEqual(['Laptop', 'Add a passkey'])
  })

  test('user verification fails: neither adds nor signs in, and the password still works', async () => {
    const { page, device, username } = await visitor()
    await device.verifiesUser(false)
    await page.getByLabel('Name', { exact: true }).fill('Laptop')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByText('The browser or the device stopped').waitFor()
    await device.verifiesUser(true)
    await add(page, 'Laptop')
    await openSignIn(page)
    await device.verifiesUser(false)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('No passkey was used').waitFor()
    await signIn(page, { username, password: 'a long enough password' })
    expect(await headingOf(page)).toBe('Connected apps')
  })

  test('a copy of the passkey, in another device, with an older counter is refused', async () => {
    const { page, device } = await visitor()
    await add(page, 'Laptop')
    const copy = await device.passkeys()
    for (let uses = 0; uses < 2; uses += 1) {
      await openSignIn(page)
      await press(page, 'Sign in with a passkey')
      expect(await headingOf(page)).toBe('Connected apps')
    }
    const other = await openBrowser()
    const otherDevice = await addVirtualAuthenticator(other)
    await otherDevice.restore(copy)
    await openSignIn(other)
    await press(other, 'Sign in with a passkey')
    expect(await noticeOf(other)).toContain('The passkey was not accepted')
  })

  test('the passkey of a deleted user is refused', async () => {
    const { page, username } = await visitor()
    await add(page, 'Laptop')
    await stack.valetkey(['users', 'delete', username, '--yes'])
    await openSignIn(page)
    await press(page, 'Sign in with a passkey')
    expect(await noticeOf(page)).toContain('The passkey was not accepted')
  })

  test('without JavaScript the pages show no passkey controls, and the password works', async () => {
    const { page } = await visitor({ javaScriptEnabled: false })
    expect(await page.getByRole('button', { name: 'Add passkey' }).count()).toBe(0)
    expect(await page.getByText('This needs JavaScript').isVisible()).toBe(true)
    await page.context().clearCookies()
    await page.goto(`${at.issuer}/login`)
    expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0)
    await signIn(page, at)
    expect(await headingOf(page)).toBe('Connected apps')
  })
}
