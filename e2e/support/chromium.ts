import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Page,
  type Request
} from 'playwright-core'
import { browserPath } from './browser-path.js'

const quiet = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update'
]

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath('Chromium', 'TEST_CHROMIUM'), args: quiet })
}

/** A page in its own browser profile. `complaints` collects errors and warnings. */
export type Visit = { page: Page; complaints: string[] }

export async function openVisit(
  browser: Browser,
  origins: readonly string[],
  options: BrowserContextOptions = {}
): Promise<Visit> {
  const context = await browser.newContext(options)
  // Only ends a hang.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const complaints: string[] = []
  const documents = new Set<string>()
  page.on('request', (request: Request) => {
    if (request.isNavigationRequest()) documents.add(request.url())
    const { origin, protocol } = new URL(request.url())
    if (!origins.includes(origin) && !origins.includes(protocol)) complaints.push(`request to ${request.url()}`)
  })
  page.on('console', (message: ConsoleMessage) => {
    // Chromium logs every page with a status of 4xx, and some of ours have one by design.
    const isPageStatus = message.text().startsWith('Failed to load resource') && documents.has(message.location().url)
    if (message.type() === 'error' && !isPageStatus) complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`))
  return { page, complaints }
}

/** Whether the page can be scrolled horizontally. */
export async function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth')
}
