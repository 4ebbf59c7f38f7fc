import { afterAll, beforeAll } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { type StackWorld, useStack } from '../stack/use-stack.js'
import { launchChromium } from '../support/chromium.js'

/** One Chromium beside the stack. Each test has its own browser context. */
export type BrowserWorld = StackWorld & { browser: Browser }

/** Starts a stack and Chromium before the tests of a file, and ends them after them. */
export function useBrowserWorld(environment: Record<string, string> = {}): BrowserWorld {
  const world = useStack(environment) as BrowserWorld
  beforeAll(async () => {
    world.browser = await launchChromium()
  })
  afterAll(() => world.browser?.close())
  return world
}
