import type { Page } from 'playwright-core'

export type Account = { username: string; password: string }

/** The steps of a user at the demo client, by the text on the page. */
export async function connect(page: Page, demoUrl: string): Promise<void> {
  await page.goto(demoUrl)
  await press(page, 'Connect your files')
}

export async function signIn(page: Page, { username, password }: Account): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

/** Every button opens another page. Waits until that page is loaded. */
export async function press(page: Page, button: string): Promise<void> {
  const loaded = page.waitForEvent('load')
  await page.getByRole('button', { name: button, exact: true }).click()
  await loaded
}

export async function headingOf(page: Page): Promise<string> {
  return (await page.getByRole('heading', { level: 1 }).textContent()) ?? ''
}

/** No page has more elements that take the focus. */
const MOST_STOPS = 40

/** Presses Tab until the element with this name has a visible focus. The name is its label, or its text. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const focused =
    '(({ innerText, labels }) => (labels?.[0]?.innerText || innerText || "").trim())(document.activeElement)'
  const outline = 'getComputedStyle(document.activeElement).outlineStyle'
  for (let presses = 0; presses < MOST_STOPS; presses += 1) {
    if ((await page.evaluate(focused)) === name) {
      if ((await page.evaluate(outline)) === 'none') throw new Error(`Nothing shows that "${name}" has the focus`)
      return
    }
    await page.keyboard.press('Tab')
  }
  throw new Error(`"${name}" cannot be reached with the keyboard`)
}
