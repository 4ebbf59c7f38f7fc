// Opens pages in one language, and takes each picture in every look.
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const LOOKS = [
  [360, 640],
  [1280, 800]
].flatMap(([width, height]) => ['light', 'dark'].map((colorScheme) => ({ width, height, colorScheme })))

/** The one of the pictures in README.md. */
export const README_LOOK = { width: 880, height: 640, colorScheme: 'light', scale: 2 }

const messages = new URL('../../services/authorization-server/messages/', import.meta.url)

export const fileName = (name, locale, { width, colorScheme }) => `${name}-${locale}-${width}-${colorScheme}.png`

/** @returns a new browser profile with its page */
export async function createCamera({ browser, locale, out, looks = LOOKS }) {
  const words = JSON.parse(readFileSync(new URL(`${locale}.json`, messages), 'utf8'))
  const context = await browser.newContext({ locale, reducedMotion: 'reduce', deviceScaleFactor: looks[0]?.scale ?? 1 })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  const taken = []
  /** A key of the messages, or a text. */
  const textOf = (key, values = {}) => (words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')

  async function keep(name) {
    for (const look of looks) {
      await page.setViewportSize({ width: look.width, height: look.height })
      await page.emulateMedia({ colorScheme: look.colorScheme })
      await page.screenshot({ path: path.join(out, fileName(name, locale, look)), fullPage: true })
    }
    taken.push(name)
  }

  /** Clicks what leads to another page. */
  async function follow(role, key, values) {
    const loaded = page.waitForEvent('load')
    await page
      .getByRole(role, { name: textOf(key, values), exact: true })
      .first()
      .click()
    await loaded
  }

  return {
    locale,
    page,
    taken,
    textOf,
    keep,
    follow,
    press: (key, values) => follow('button', key, values),
    fill: (key, value) => page.getByLabel(textOf(key), { exact: true }).fill(value),
    async open(name, address) {
      await page.goto(address)
      await keep(name)
    },
    async signIn({ username, password }) {
      await page.locator('#username').fill(username)
      await page.locator('#password').fill(password)
      await follow('button', 'login.submit')
    },
    close: () => context.close()
  }
}
