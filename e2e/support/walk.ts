import type { Page } from 'playwright-core'

export type Account = { username: string; password: string }

/** The steps of a person at the demo client, by what they read on the page. */
export async function connect(page: Page, demoUrl: string): Promise<void> {
  await page.goto(demoUrl)
  await press(page, 'Connect your files')
}

export async function signIn(page: Page, { username, password }: Account): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

/** Every button here leads to another page; only when that is loaded can anything be said about it. */
export async function press(page: Page, button: string): Promise<void> {
  const loaded = page.waitForEvent('load')
  await page.getByRole('button', { name: button, exact: true }).click()
  await loaded
}

export async function headingOf(page: Page): Promise<string> {
  return (await page.getByRole('heading', { level: 1 }).textContent()) ?? ''
}

/** Moves on with Tab until something of this name has the focus, and can be seen to have it. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const focused =
    '(({ innerText, labels }) => (innerText || labels?.[0]?.innerText || "").trim())(document.activeElement)'
  const outline = 'getComputedStyle(document.activeElement).outlineStyle'
  for (let presses = 0; presses < 20; presses += 1) {
    if ((await page.evaluate(focused)) === name) {
      if ((await page.evaluate(outline)) === 'none') throw new Error(`Nothing shows that "${name}" has the focus`)
      return
    }
    await page.keyboard.press('Tab')
  }
  throw new Error(`"${name}" cannot be reached with the keyboard`)
}
