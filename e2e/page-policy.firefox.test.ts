import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, BrowserContext, Page } from 'puppeteer-core'
import { launchFirefox } from './support/firefox.js'
import { knownFiles, makeKnownFiles } from './support/known-files.js'
import { chainNames, openChains, schemeOfRelay } from './support/redirect-chains.js'
import { type Addresses, createStack, type Stack } from './system/stack.mjs'

describe('a user in Firefox, with the content security policy of the pages', () => {
  let files: ReturnType<typeof makeKnownFiles>
  let stack: Stack
  let at: Addresses
  let browser: Browser
  let chains: Awaited<ReturnType<typeof openChains>>
  let context: BrowserContext | undefined
  const complaints: string[] = []

  beforeAll(async () => {
    files = makeKnownFiles()
    stack = await createStack({ files: files.directory })
    ;[at, browser] = await Promise.all([stack.start(), launchFirefox()])
    chains = await openChains({ stack, at })
  })

  afterEach(async () => {
    await context?.close()
    context = undefined
    expect(complaints.splice(0)).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await stack?.dispose()
    await chains?.close()
    files?.remove()
  })

  async function open(address: string): Promise<Page> {
    context = await browser.createBrowserContext()
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(address)
    return page
  }

  /** Finds an element by its accessible name. */
  async function find(page: Page, name: string) {
    const element = await page.$(`::-p-aria(${name})`)
    if (element === null) throw new Error(`There is no "${name}" at ${page.url()}`)
    return element
  }

  async function press(page: Page, button: string): Promise<void> {
    const element = await find(page, button)
    await Promise.all([page.waitForNavigation(), element.click()])
  }

  async function signIn(page: Page): Promise<void> {
    await (await find(page, 'User name')).type(at.username)
    await (await find(page, 'Password')).type(at.password)
    await press(page, 'Sign in[role="button"]')
  }

  const headingOf = (page: Page): Promise<string> => page.$eval('h1', (heading) => heading.textContent ?? '')

  test('signs in, allows, and sees the files at the demo client', async () => {
    const page = await open(at.demoUrl)
    await press(page, 'Connect your files')
    await signIn(page)
    expect(await headingOf(page)).toBe('Allow Photo Printer to use your Files?')
    await press(page, 'Allow')
    expect(await headingOf(page)).toBe('Your files')
    expect(await page.$$('tbody tr')).toHaveLength(knownFiles.length)
  })

  /** Waits until Firefox has followed the chain. It has no program for the scheme of an app, so the attempt to open it fails. */
  async function reachedEnd(page: Page, end: string): Promise<void> {
    if (end.startsWith(schemeOfRelay)) {
      await new Promise<void>((resolve) => {
        page.on('requestfailed', (request) => {
          if (request.failure()?.errorText === 'NS_ERROR_UNKNOWN_PROTOCOL') resolve()
        })
      })
    } else {
      await page.waitForRequest((request) => request.url().startsWith(end))
      await page.waitForSelector('::-p-text(Thank you)')
      expect(page.url().startsWith(end)).toBe(true)
    }
  }

  test.each(chainNames)(
    'a callback that redirects from %s: Firefox follows it after Allow, and after sign-in with a remembered consent',
    async (name) => {
      const { chain, app } = await chains.prepare(name)
      const page = await open(app.request())
      await signIn(page)
      expect(await headingOf(page)).toBe('Allow Relay to use your Files?')
      await Promise.all([reachedEnd(page, chain.end), (await find(page, 'Allow')).click()])
      expect((await app.redeem(chain.site.answers.at(-1))).status).toBe(200)
      await context?.close()

      const again = await open(app.request())
      await (await find(again, 'User name')).type(at.username)
      await (await find(again, 'Password')).type(at.password)
      await Promise.all([reachedEnd(again, chain.end), (await find(again, 'Sign in[role="button"]')).click()])
      expect(chain.site.answers).toHaveLength(2)
      expect((await app.redeem(chain.site.answers.at(-1))).status).toBe(200)
    }
  )
})
