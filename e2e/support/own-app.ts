import type { Page } from 'playwright-core'
import type { Account } from './walk.js'

const OWN_APP = { name: 'Wind Chimes', redirectUri: 'https://chimes.example/callback', scope: 'reports.read' }

/** Opens a page for developers. These pages may require a new sign-in, and return. */
export async function openFresh(page: Page, url: string, account: Account): Promise<void> {
  await page.goto(url)
  if (!page.url().includes('/login?')) return
  await signInAgain(page, page.url(), account)
  if (page.url() !== url) await page.goto(url)
}

export async function signInAgain(page: Page, url: string, { username, password }: Account): Promise<void> {
  await page.goto(url)
  await page.locator('#username').fill(username)
  await page.locator('#password').fill(password)
  await pressIn(page, 'form:has(#password)')
}

/** Fills the form for a new app and sends it. */
async function registerOwnApp(page: Page, issuer: string, account: Account): Promise<void> {
  await openFresh(page, `${issuer}/account/developer/new`, account)
  await page.locator('#name').fill(OWN_APP.name)
  await page.locator('#redirect_uris').fill(OWN_APP.redirectUri)
  await page.locator(`[name="scope.${OWN_APP.scope}"]`).selectOption('required')
  await pressIn(page, 'form[enctype]')
}

/** The address of the first app in the list; registers one if there is none. */
export async function ownApp(page: Page, issuer: string, account: Account): Promise<string> {
  const link = page.locator('.app h2 a').first()
  await openFresh(page, `${issuer}/account/developer`, account)
  if ((await link.count()) === 0) {
    await registerOwnApp(page, issuer, account)
    await page.goto(`${issuer}/account/developer`)
  }
  return (await link.getAttribute('href')) ?? ''
}

/** Presses the button of a form, in any language, and waits for the next page. */
export async function pressIn(page: Page, form: string): Promise<void> {
  const loaded = page.waitForEvent('load')
  await page.locator(`${form} button[type=submit]`).first().click()
  await loaded
}
