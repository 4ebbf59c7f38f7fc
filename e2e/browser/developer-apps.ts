import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { type AppSite, openAppSite } from '../support/app-site.js'
import { createVisits } from '../support/visits.js'
import { headingOf, press, signIn, tabTo } from '../support/walk.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

/** Needs DEVELOPER_APPS=approved. */
export function developerApps(world: BrowserWorld): void {
  let stack: Stack
  let at: Addresses
  let browser: Browser
  let site: AppSite
  const visits = createVisits(() => ({ browser, origins: [at.issuer, site.origin] }))

  beforeAll(async () => {
    ;({ stack, at, browser } = world)
    site = await openAppSite()
    await stack.valetkey(['scopes', 'update', 'files.read', '--self-service'])
    await stack.valetkey(['users', 'create', 'user', '--password-stdin'], 'correct horse battery staple')
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  afterAll(() => site?.close())

  const textOf = async (page: Page) => (await page.getByRole('main').textContent()) ?? ''

  // Apps of developers always use PKCE.
  const VERIFIER = 'a-verifier-that-is-long-enough-for-rfc-7636'
  const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

  /** A page of the app's site: the address to which the user came back. */
  async function requestCode(page: Page, clientId: string): Promise<URL> {
    const { redirectUri } = site
    const parameters = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'files.read' }
    const pkce = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }
    const query = new URLSearchParams({ ...parameters, ...pkce, state: 'a-state' })
    await page.goto(`${at.issuer}/oauth/authorize?${query}`)
    if ((await page.locator('#password').count()) > 0) {
      await signIn(page, { username: 'user', password: 'correct horse battery staple' })
    }
    if ((await page.getByRole('button', { name: 'Allow', exact: true }).count()) > 0) await press(page, 'Allow')
    return new URL(page.url())
  }

  async function exchange(clientId: string, clientSecret: string, code: string): Promise<number> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: site.redirectUri, code_verifier: VERIFIER }
    const body = new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret })
    return (await fetch(`${at.issuer}/token`, { method: 'POST', body })).status
  }

  async function secretOn(page: Page): Promise<string> {
    return /vk_cs_\w+/.exec(await textOf(page))?.[0] ?? ''
  }

  async function openApp(page: Page): Promise<string> {
    await page.goto(`${at.issuer}/account/developer`)
    await page.getByRole('heading', { level: 2 }).getByRole('link').click()
    return new URL(page.url()).pathname.split('/').at(-1) ?? ''
  }

  test('a developer registers, is refused, corrects, is approved, exchanges a code and rotates a secret; an operator only decides', async () => {
    const page = await visits.open({ javaScriptEnabled: false })
    await page.goto(`${at.issuer}/login`)
    await signIn(page, at)
    await page.getByRole('link', { name: 'Developer' }).click()
    expect(await textOf(page)).toContain('You have not registered an app.')
    await page.getByRole('link', { name: 'Register an app' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Bank of Chimes')
    await page.getByLabel('Redirect URIs').fill(site.redirectUri)
    await page.locator('[name="scope.files.read"]').selectOption('required')
    await press(page, 'Register')
    expect(await headingOf(page)).toBe('Bank of Chimes is registered')
    const first = await secretOn(page)
    await page.getByRole('link', { name: 'I have copied it' }).click()

    await press(page, 'Ask for approval')
    expect(await textOf(page)).toContain('Waiting for approval.')
    const clientId = await openApp(page)
    const stranger = await visits.open()
    expect((await requestCode(stranger, clientId)).origin).toBe(at.issuer)
    await stack.valetkey(['apps', 'refuse', clientId, '--reason', 'You are not a bank.'])
    await openApp(page)
    expect(await textOf(page)).toMatch(/Not approved\..*You are not a bank\./s)

    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Wind Chimes')
    await press(page, 'Save')
    await press(page, 'Ask for approval')
    const { revision } = await stack.valetkey(['apps', 'show', clientId])
    await stack.valetkey(['apps', 'approve', clientId, '--revision', String(revision)])
    await openApp(page)
    expect(await textOf(page)).toContain('Approved.')

    const back = await requestCode(stranger, clientId)
    expect(back.origin).toBe(site.origin)
    expect(await exchange(clientId, first, back.searchParams.get('code') ?? '')).toBe(200)
    await openApp(page)
    expect(await textOf(page)).toMatch(/Connected users\s*1/)

    expect(await exchange(clientId, first, 'a-wrong-code')).toBe(400)
    await page.locator('a[href$="/refusals"]').click()
    // Refusals are stored a moment later.
    while (!(await textOf(page)).includes('invalid_grant')) await page.reload()
    expect(await textOf(page)).toContain('Your app, with a valid secret')
    await openApp(page)

    await press(page, 'Create a new secret')
    const second = await secretOn(page)
    await page.getByRole('link', { name: 'I have copied it' }).click()
    const later = async () => (await requestCode(stranger, clientId)).searchParams.get('code') ?? ''
    expect([await exchange(clientId, first, await later()), await exchange(clientId, second, await later())]).toEqual([
      200, 200
    ])
    await page.locator('form[action$="/secrets/remove"] button').first().click()
    await page.getByText('The secret no longer works').waitFor()
    const codes = [await later(), await later()]
    expect([await exchange(clientId, first, codes[0] ?? ''), await exchange(clientId, second, codes[1] ?? '')]).toEqual(
      [401, 200]
    )
  })

  test('a developer registers, asks for approval, adds a test user and deletes the app with the keyboard only', async () => {
    const page = await visits.open({ permissions: ['clipboard-read', 'clipboard-write'] })
    const pressEnterOn = async (name: string, next: string) => {
      await tabTo(page, name)
      await page.keyboard.press('Enter')
      await page.getByText(next).first().waitFor()
    }
    await page.goto(`${at.issuer}/login`)
    await signIn(page, { username: 'user', password: 'correct horse battery staple' })
    await pressEnterOn('Developer', 'You have not registered an app.')
    await pressEnterOn('Register an app', 'Where the app runs')
    await tabTo(page, 'Name')
    await page.keyboard.type('Door Bell')
    await tabTo(page, 'Redirect URIs')
    await page.keyboard.type(site.redirectUri)
    await tabTo(page, (await page.locator('label[for=scope-0]').textContent()) ?? '')
    await page.keyboard.type('Required')
    await pressEnterOn('Register', 'Copy it now.')
    await pressEnterOn('Copy', 'Copied')
    const copied = await page.evaluate('navigator.clipboard.readText()')
    const secret = await page.locator('.copyable').first().textContent()
    expect(copied).toBe(secret)
    await page.evaluate('navigator.clipboard.writeText("before")')
    await refuseClipboard(page)
    await page.keyboard.press('Enter')
    await page.getByText('Selected. Copy it with Ctrl+C').waitFor()
    expect(await page.evaluate('getSelection().toString()')).toBe(secret)
    await page.keyboard.press('Control+C')
    await page.context().grantPermissions(['clipboard-read'])
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret)
    await pressEnterOn('I have copied it', 'Ask for approval')
    await pressEnterOn('Ask for approval', 'Waiting for approval')
    await pressEnterOn('Add a test user', 'Only a user who has this name now')
    await tabTo(page, 'User name')
    await page.keyboard.type('tester')
    await page.keyboard.press('Enter')
    await page.getByText('Added.').waitFor()
    await pressEnterOn('Delete the app …', 'stops working at once')
    await pressEnterOn('Delete Door Bell', 'You have not registered an app.')
  })
}

/** From now on, the browser refuses to write to the clipboard; with a click it otherwise needs no permission. */
async function refuseClipboard(page: Page): Promise<void> {
  const context = page.context()
  const { targetInfo } = await (await context.newCDPSession(page)).send('Target.getTargetInfo')
  const devtools = await context.browser()?.newBrowserCDPSession()
  for (const allowWithoutGesture of [false, true]) {
    const permission = { name: 'clipboard-write', allowWithoutGesture }
    const { browserContextId = '' } = targetInfo
    await devtools?.send('Browser.setPermission', { permission, setting: 'denied', browserContextId })
  }
}
