import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { launchChromium } from './chromium.js'
import { recoverySteps } from './recovery-steps.js'
import { createRecoveryWorld, type RecoveryWorld } from './recovery-world.js'
import { createVisits } from './visits.js'

export type RecoveryStory = ReturnType<typeof recoveryStory>

/**
 * Starts the services and a browser for the tests of a file, and returns their steps. After each test it checks that no
 * page logged an error.
 */
export function recoveryStory() {
  let world: RecoveryWorld
  let browser: Browser
  const visits = createVisits(() => ({ browser, origins: [world.at.issuer, world.site.origin] }))

  beforeAll(async () => {
    ;[world, browser] = await Promise.all([createRecoveryWorld(), launchChromium()])
  })

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

  return {
    get world() {
      return world
    },
    get browser() {
      return browser
    },
    visits,
    ...recoverySteps(() => ({ world, visits }))
  }
}
