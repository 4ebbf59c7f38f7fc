import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { injectAxe, violationsOn } from '../support/axe.js'
import { layoutProblems } from '../support/layout.js'
import { createVisits } from '../support/visits.js'
import type { Addresses } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

const phone = { width: 360, height: 640 }
const desk = { width: 1280, height: 800 }
/** The desktop window at a zoom of 200 %. */
const zoomedDesk = { width: 640, height: 400 }

export function operatorPage(world: BrowserWorld): void {
  let at: Addresses
  let page: Page
  const visits = createVisits(() => ({ browser: world.browser, origins: [at.operatorUrl] }))

  beforeAll(async () => {
    at = world.at
    page = await visits.open({ reducedMotion: 'reduce' })
    await page.goto(at.operatorUrl)
  })

  afterAll(async () => {
    expect(await visits.close()).toEqual([])
  })

  test.each([
    { viewport: phone, colorScheme: 'light' as const },
    { viewport: phone, colorScheme: 'dark' as const },
    { viewport: zoomedDesk, colorScheme: 'light' as const },
    { viewport: desk, colorScheme: 'dark' as const }
  ])(
    'the operator page at $viewport.width pixels, $colorScheme: axe finds nothing, and nothing is cut off',
    async (look) => {
      await page.setViewportSize(look.viewport)
      await page.emulateMedia({ colorScheme: look.colorScheme })
      await page.locator('details').evaluate((details) => details.setAttribute('open', ''))
      await injectAxe(page)
      expect(await violationsOn(page)).toEqual([])
      expect(await layoutProblems(page)).toEqual([])
    }
  )

  test('the operator page is styled under its policy, and says that the process is ready', async () => {
    expect(await page.getByRole('main').textContent()).toContain('This process is ready.')
    expect(await page.evaluate("getComputedStyle(document.querySelector('main')).maxInlineSize")).toBe('736px')
  })

  test('its links work, with the keyboard alone', async () => {
    await page.goto(at.operatorUrl)
    const seen: string[] = []
    for (let press = 0; press < 3; press++) {
      await page.keyboard.press('Tab')
      seen.push(await page.evaluate<string>('document.activeElement.textContent'))
    }
    expect(seen).toEqual([
      expect.stringMatching(/^Checks without a problem/),
      'Readiness as JSON',
      'Metrics for Prometheus'
    ])
    for (const path of ['readyz', 'metrics']) expect((await fetch(`${at.operatorUrl}/${path}`)).status).toBe(200)
  })
}
