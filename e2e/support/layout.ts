import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CDPSession, Page } from 'playwright-core'

const inThePage = readFileSync(path.join(path.dirname(fileURLToPath(import.meta.url)), 'layout.browser.js'), 'utf8')

/** The texts that are cut off in the current window. */
export async function layoutProblems(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(inThePage)
}

type TextSize = { devtools: CDPSession; pixels: number }
const textSizes = new WeakMap<Page, TextSize>()

/** The default font size of the browser; 16 unless changed. */
export async function setTextSize(page: Page, pixels: number): Promise<void> {
  const { devtools, pixels: now } = textSizes.get(page) ?? (await initialTextSize(page))
  if (now === pixels) return
  await devtools.send('Page.setFontSizes', { fontSizes: { standard: pixels, fixed: (pixels * 13) / 16 } })
  textSizes.set(page, { devtools, pixels })
}

async function initialTextSize(page: Page): Promise<TextSize> {
  const initial = { devtools: await page.context().newCDPSession(page), pixels: 16 }
  textSizes.set(page, initial)
  return initial
}
