import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { launchChromium } from './support/chromium.js'
import { recoverySteps } from './support/recovery-steps.js'
import { createRecoveryWorld, type RecoveryWorld } from './support/recovery-world.js'
import { createVisits } from './support/visits.js'
import { headingOf, press, signIn } from './support/walk.js'

describe('Redis loses its data in the middle of a sign-in: the page says so, and the request goes on', () => {
  let world: RecoveryWorld
  let browser: Browser
  const visits = createVisits(() => ({ browser, origins: [world.at.issuer, world.site.origin] }))
  const { ask, expectSignIn, expectInterrupted, finish, expectNoAnswer } = recoverySteps(() => ({ world, visits }))

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([createRecoveryWorld(), launchChromium()])
  }, 90_000)

  beforeEach(() => {
    world.site.answers.length = 0
  })

  afterEach(async () => {
    expect(await visits.close()).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await world?.dispose()
  })

  test('on the sign-in page: nothing was stored, so nothing is lost', async () => {
    const page = await ask()
    await world.loseRedis()
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test('between the sign-in and the consent page', async () => {
    const page = await ask()
    // The answer to the form sets the cookie of the session; the page after it is asked for when the session is lost.
    await page.route('**/login?**', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const response = await route.fetch({ maxRedirects: 0 })
      await world.loseRedis()
      await route.fulfill({ response })
    })
    await signIn(page, world.anna)
    await page.unrouteAll()
    await expectInterrupted(page)
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test.each(['Allow', 'Deny'])('on the consent page, before %s', async (button) => {
    const page = await ask(world.anna)
    await world.loseRedis()
    await press(page, button)
    expectNoAnswer()
    await expectInterrupted(page)
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test('on the consent page, before a reload', async () => {
    const page = await ask(world.anna)
    await world.loseRedis()
    await page.reload()
    await expectInterrupted(page)
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test('after Allow: the way back leads to the sign-in page of the same request', async () => {
    const page = await ask(world.anna)
    await press(page, 'Allow')
    await world.loseRedis()
    await page.goBack()
    await expectSignIn(page)
    await signIn(page, world.anna)
    await finish(page, world.anna)
  })

  test('the consent page without a request in its address says how to go on', async () => {
    const page = await ask(world.anna)
    await page.goto(`${world.at.issuer}/consent`)
    expect(await headingOf(page)).toBe('This request is no longer available')
    expect(await page.getByRole('main').textContent()).toContain('Go back to the app you came from')
  })
})
