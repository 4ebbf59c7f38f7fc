import { expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { RecoveryWorld } from './recovery-world.js'
import type { Visits } from './visits.js'
import { type Account, headingOf, press, signIn } from './walk.js'

/** The steps of the recovery tests. */
export function recoverySteps(given: () => { world: RecoveryWorld; visits: Visits }) {
  /** A browser with an open authorization request, signed in as this user, if any. */
  async function ask(who?: Account, state = 'a-state'): Promise<Page> {
    const page = await given().visits.open()
    await page.goto(given().world.app.request({ state }))
    if (who !== undefined) await signIn(page, who)
    return page
  }

  /** The app sends another request, in another tab of the same browser. */
  async function askInNewTab(page: Page, state: string): Promise<Page> {
    const tab = await page.context().newPage()
    await tab.goto(given().world.app.request({ state }))
    return tab
  }

  async function expectSignIn(page: Page): Promise<void> {
    expect(await headingOf(page)).toBe('Sign in')
    expect(await page.getByRole('main').textContent()).toContain('to continue to Printer')
  }

  /** The sign-in page with the message that the request was lost. */
  async function expectInterrupted(page: Page): Promise<void> {
    await expectSignIn(page)
    expect(await page.getByRole('status').textContent()).toContain('Please sign in again to continue.')
  }

  /** The page shows the user whose files would be shared. */
  async function expectConsent(page: Page, { username }: Account): Promise<void> {
    expect(await headingOf(page)).toBe('Allow Printer to use your Files?')
    expect(await page.locator('.account-name bdi').textContent()).toBe(username)
  }

  /** The consent page with the message that the decision was not accepted. */
  async function expectAskedAgain(page: Page, who: Account): Promise<void> {
    await expectConsent(page, who)
    expect(await page.getByRole('status').textContent()).toContain('Please decide again.')
  }

  /** Clicks Allow, is redirected to the app, and the code gives access to this user's files. */
  async function finish(page: Page, who: Account, state = 'a-state'): Promise<void> {
    await expectConsent(page, who)
    await press(page, 'Allow')
    await expectCodeFor(page, who, state)
  }

  async function expectCodeFor(page: Page, who: Account, state = 'a-state'): Promise<void> {
    expect(await headingOf(page)).toBe('Thank you')
    const answer = given().world.site.answers.at(-1)
    expect(answer?.get('state')).toBe(state)
    expect(await given().world.app.redeem(answer)).toMatchObject({ status: 200, files: [`${who.username}s.txt`] })
  }

  function expectNoAnswer(): void {
    expect(given().world.site.answers).toEqual([])
  }

  return {
    ask,
    askInNewTab,
    expectSignIn,
    expectInterrupted,
    expectConsent,
    expectAskedAgain,
    finish,
    expectCodeFor,
    expectNoAnswer
  }
}
