import puppeteer, { type Browser } from 'puppeteer-core'
import { browserPath } from './browser-path.js'

const executablePath = browserPath('Firefox', 'TEST_FIREFOX')

/** Firefox as it is installed, through WebDriver BiDi. */
export function launchFirefox(): Promise<Browser> {
  return puppeteer.launch({
    browser: 'firefox',
    executablePath,
    headless: true,
    // The certificates of the https apps in the tests are their own.
    acceptInsecureCerts: true
  })
}
