import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { type Chain, chainNames, openChains, schemeOfRelay } from '../support/redirect-chains.js'
import type { RegisteredApp } from '../support/registered-app.js'
import { createVisits } from '../support/visits.js'
import { headingOf, press, signIn } from '../support/walk.js'
import type { BrowserWorld } from './browser-world.js'

/** The callback of an app that redirects again, as relays of desktop apps do. Browsers apply `form-action` to that redirect, too. */
export function redirectChains(world: BrowserWorld): void {
  let chains: Awaited<ReturnType<typeof openChains>>
  const visits = createVisits(() => ({
    browser: world.browser,
    origins: [world.at.issuer, schemeOfRelay, ...chains.origins]
  }))

  beforeAll(async () => {
    chains = await openChains(world)
  })
  afterEach(async () => {
    // Chromium has no program for the scheme of the app. A blocked redirect would be another message.
    const expected = `console: Failed to launch '${schemeOfRelay}`
    expect((await visits.close()).filter((complaint) => !complaint.startsWith(expected))).toEqual([])
  })
  afterAll(() => chains?.close())

  /** Presses the button, and waits until the browser has followed the chain to its end. */
  async function follow(page: Page, button: string, { end, site }: Chain, app: RegisteredApp): Promise<void> {
    const seen = page.waitForRequest((request) => request.url().startsWith(end))
    await page.getByRole('button', { name: button, exact: true }).click()
    const answer = new URL((await seen).url()).searchParams
    expect(answer.get('code')).toBe(site.answers.at(-1)?.get('code'))
    expect((await app.redeem(answer)).status).toBe(200)
  }

  test.each(chainNames)(
    '%s: the browser follows the chain after Allow, and after sign-in with a remembered consent',
    async (name) => {
      const { chain, app } = await chains.prepare(name)
      const page = await visits.open({ ignoreHTTPSErrors: true })
      await page.goto(app.request())
      await signIn(page, world.at)
      expect(await headingOf(page)).toBe('Allow Relay to use your Files?')
      await follow(page, 'Allow', chain, app)

      const again = await visits.open({ ignoreHTTPSErrors: true })
      await again.goto(app.request())
      await again.getByLabel('User name').fill(world.at.username)
      await again.getByLabel('Password').fill(world.at.password)
      await follow(again, 'Sign in', chain, app)
    }
  )

  test('a page without a request keeps form-action', async () => {
    const page = await visits.open()
    const response = await page.goto(`${world.at.issuer}/login`)
    expect(response?.headers()['content-security-policy']).toContain("form-action 'self';")
    await signIn(page, world.at)
    await press(page, 'Sign out')
  })
}
