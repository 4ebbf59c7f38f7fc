import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, BrowserContext, Page } from 'puppeteer-core'
import { type AppSite, openAppSite } from './support/app-site.js'
import { launchFirefox } from './support/firefox.js'
import { knownFiles, makeKnownFiles } from './support/known-files.js'
import { registerApp } from './support/registered-app.js'
import { type Addresses, createStack, type Stack } from './system/stack.mjs'

describe('a user in Firefox, with the content security policy of the pages', () => {
  let files: ReturnType<typeof makeKnownFiles>
  let stack: Stack
  let at: Addresses
  let browser: Browser
  let sites: AppSite[]
  let context: BrowserContext | undefined
  const complaints: string[] = []

  beforeAll(async () => {
    files = makeKnownFiles()
    stack = await createStack({ files: files.directory })
    ;[at, browser] = await Promise.all([stack.start(), launchFirefox()])
    const [end, tlsEnd] = await Promise.all([openAppSite(), openAppSite({ tls: true })])
    const hops = await Promise.all([
      openAppSite({ hopsTo: () => `${end.origin}/done` }),
      openAppSite({ tls: true, hopsTo: () => `${tlsEnd.origin}/done` })
    ])
    sites = [...hops, end, tlsEnd]
  }, 180_000)

  afterEach(async () => {
    await context?.close()
    context = undefined
    expect(complaints.splice(0)).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await stack?.dispose()
    await Promise.all((sites ?? []).map((site) => site.close()))
    files?.remove()
  })

  async function open(address: string): Promise<Page> {
    context = await browser.createBrowserContext()
    const page = await context.newPage()
    page.setDefaultTimeout(10_000)
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
    expect(await headingOf(page)).toBe('Allow Photo Printer?')
    await press(page, 'Allow')
    expect(await headingOf(page)).toBe('Your files')
    expect(await page.$$('tbody tr')).toHaveLength(knownFiles.length)
  })

  test.each([
    { kind: 'on loopback', index: 0 },
    { kind: 'with https', index: 1 }
  ])(
    'is redirected to an app $kind whose callback redirects to another origin, and the app can redeem the code',
    async ({ index }) => {
      const site = sites[index] as AppSite
      const app = await registerApp(stack, at, { name: 'Hopper', redirectUri: site.redirectUri })
      const page = await open(app.request())
      await signIn(page)
      await press(page, 'Allow')
      expect(await headingOf(page)).toBe('Thank you')
      expect(new URL(page.url()).origin).toBe(sites[index + 2]?.origin)
      expect((await app.redeem(site.answers.at(-1))).status).toBe(200)
    }
  )
})
