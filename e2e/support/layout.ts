import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const inThePage = readFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), 'layout.browser.js'), 'utf8')

/** What cannot be read whole in the window as it is. */
export async function layoutProblems(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(inThePage)
}

/** The text size set in the browser; 16 is the default. */
export async function setTextSize(page: Page, pixels: number): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Page.setFontSizes', { fontSizes: { standard: pixels, fixed: (pixels * 13) / 16 } })
  await devtools.detach()
}
