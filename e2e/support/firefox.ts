import puppeteer, { type Browser } from 'puppeteer-core'

/** `npm test` sets it where it finds a Firefox, and says so where it finds none. */
export const { TEST_FIREFOX: firefoxPath } = process.env

/** Firefox as it is installed, through WebDriver BiDi. */
export function launchFirefox(): Promise<Browser> {
  return puppeteer.launch({
    browser: 'firefox',
    executablePath: firefoxPath ?? '',
    headless: true,
    // The certificates of the https apps in the tests are their own.
    acceptInsecureCerts: true
  })
}
