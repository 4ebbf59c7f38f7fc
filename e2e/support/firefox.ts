import puppeteer, { type Browser } from 'puppeteer-core'
import { browserPath } from './browser-path.js'

/** The installed Firefox, controlled through WebDriver BiDi. */
export function launchFirefox(): Promise<Browser> {
  return puppeteer.launch({
    browser: 'firefox',
    executablePath: browserPath('Firefox', 'TEST_FIREFOX'),
    headless: true,
    // The https apps in the tests have self-signed certificates.
    acceptInsecureCerts: true
  })
}
