import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page, Route } from 'playwright-core'
import { openVisit, type Visit } from '../support/chromium.js'
import { knownFiles } from '../support/known-files.js'
import { endQuickstarts, type RunningProgram, registerQuickstart, runQuickstart } from '../support/quickstarts.js'
import { press, signIn } from '../support/walk.js'
import type { BrowserWorld } from './browser-world.js'

const names = knownFiles.map(({ name }) => name).sort()
let world: BrowserWorld
let clientId: string
let app: RunningProgram

export function singlePageApp(given: BrowserWorld): void {
  beforeAll(async () => {
    world = given
    const client = await registerQuickstart(world.stack, 'http://127.0.0.1:4280/', '--public')
    clientId = client.CLIENT_ID
    app = await runQuickstart('single-page-app.html', world.at, client)
  })
  afterAll(endQuickstarts)

  test('the single-page app on another origin signs in, lists files, refreshes after a 401, signs out', async () => {
    const { page, complaints } = await openApp()
    await signInAndPress(page, 'Allow')
    expect(await shownFiles(page, 'Signed in')).toEqual(names)
    expect(page.url()).toBe(app.address)

    // A reload of the tab stays signed in.
    expect(await filesAfterReload(page)).toEqual(names)

    const first = await tokensOf(page)
    await revoke(first.access_token)
    expect(await filesAfterReload(page)).toEqual(names)
    const second = await tokensOf(page)
    expect(second.access_token).not.toBe(first.access_token)
    expect(second.refresh_token).not.toBe(first.refresh_token)

    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await shownFiles(page, 'Signed out')).toEqual([])
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.getByRole('button', { name: 'List files' }).click()
    expect(await shownFiles(page, 'Sign in again')).toEqual([])
    expect((await listWith(second.access_token)).status).toBe(401)
    // Chromium logs the 401 of the revoked token.
    expect(complaints.filter((complaint) => !complaint.includes('401 (Unauthorized)'))).toEqual([])
  })

  test('the single-page app shows a Deny, and finishes no sign-in that this tab did not start', async () => {
    const { page } = await openApp()
    await signInAndPress(page, 'Deny')
    expect(await shownFiles(page, 'access_denied')).toEqual([])

    await page.goto(`${app.address}?code=a-code&state=a-state&iss=${encodeURIComponent(world.at.issuer)}`)
    expect(await shownFiles(page, 'Sign in again')).toEqual([])
  })

  test.each([
    { name: '503', answer: { status: 503 } },
    { name: '429', answer: { status: 429, json: { error: 'temporarily_unavailable' } } },
    { name: 'no response', answer: undefined }
  ])('revocation fails with $name: the single-page app says so and keeps the tokens', async ({ answer }) => {
    const { page } = await openApp()
    await signInAndPress(page, 'Allow')
    const files = await shownFiles(page, 'Signed in')
    const tokens = await tokensOf(page)

    const headers = { 'access-control-allow-origin': '*' }
    await page.route('**/oauth/revoke', (route) => (answer ? route.fulfill({ ...answer, headers }) : route.abort()))
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await shownFiles(page, 'Not signed out')).toEqual(files)
    expect(await tokensOf(page)).toEqual(tokens)

    await page.unroute('**/oauth/revoke')
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await shownFiles(page, /^Signed out/)).toEqual([])
    expect((await listWith(tokens.access_token)).status).toBe(401)
  })

  test('no button of the single-page app can be pressed before the app has read its settings', async () => {
    const { page } = await openApp()
    let hold: (route: Route) => void = () => {}
    const held = new Promise<Route>((resolve) => {
      hold = resolve
    })
    await page.route('**/settings', (route) => hold(route))
    await page.reload()
    const request = await held
    const buttons = await page.getByRole('button').all()
    expect(await Promise.all(buttons.map((button) => button.isDisabled()))).toEqual([true, true, true])

    await request.continue()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('User name').waitFor()
  })

  test('the content security policy of the page stops other scripts and other addresses', async () => {
    const { page } = await openApp()
    const stopped = await page.evaluate<string[]>(`new Promise((resolve) => {
    const directives = []
    addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
      directives.push(effectiveDirective)
      if (directives.length === 2) resolve(directives.sort())
    })
    const script = document.createElement('script')
    script.textContent = 'document.title = "injected"'
    document.body.append(script)
    fetch('http://evil.example/').catch(() => {})
  })`)
    expect(stopped).toEqual(['connect-src', 'script-src-elem'])
    expect(await page.title()).toBe('My files')
  })
}

async function openApp(): Promise<Visit> {
  const visit = await openVisit(world.browser, [
    world.at.issuer,
    world.at.resourceUrl,
    new URL(app.address).origin,
    'data:'
  ])
  await visit.page.goto(app.address)
  return visit
}

async function signInAndPress(page: Page, decision: 'Allow' | 'Deny'): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await signIn(page, world.at)
  await press(page, decision)
}

async function filesAfterReload(page: Page): Promise<string[]> {
  await page.reload()
  await page.getByRole('button', { name: 'List files' }).click()
  return shownFiles(page, 'Listed')
}

/** The names in the list, once the page shows this message. */
async function shownFiles(page: Page, message: string | RegExp): Promise<string[]> {
  await page.getByRole('status').filter({ hasText: message }).waitFor()
  return (await page.getByRole('listitem').allInnerTexts()).sort()
}

const tokensOf = (page: Page) =>
  page.evaluate<{ access_token: string; refresh_token: string }>('JSON.parse(sessionStorage.getItem("tokens"))')

const listWith = (token: string) =>
  fetch(`${world.at.resourceUrl}/v1/files`, { headers: { authorization: `Bearer ${token}` } })

async function revoke(token: string): Promise<void> {
  const { status } = await fetch(`${world.at.issuer}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token, client_id: clientId })
  })
  expect(status).toBe(200)
  expect((await listWith(token)).status).toBe(401)
}
