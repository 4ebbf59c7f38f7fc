import { readFileSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { useBrowserWorld } from './browser/browser-world.js'
import { injectAxe, violationsOn } from './support/axe.js'
import { scrollsSideways } from './support/chromium.js'
import { knownFiles } from './support/known-files.js'
import { layoutProblems, setTextSize } from './support/layout.js'
import { type RegisteredApp, registerApp } from './support/registered-app.js'
import { signIn, type Words, wordsOf } from './support/scene.js'
import { createVisits } from './support/visits.js'
import { headingOf, press, tabTo } from './support/walk.js'

// Each list after the first is answered from the cache of the guard.
const world = useBrowserWorld({ INTROSPECTION_CACHE_TTL: '600' })
const visits = createVisits(() => ({
  browser: world.browser,
  origins: [world.at.issuer, world.at.resourceUrl, CALLBACK]
}))
const CALLBACK = 'https://prints.example'
const PHONE = { width: 360, height: 640 }
const english = wordsOf('en')

let app: RegisteredApp
beforeAll(async () => {
  const options = ['--scope', 'files.selected']
  const redirectUri = `${CALLBACK}/callback`
  app = await registerApp(world.stack, world.at, {
    name: 'Sunny Prints',
    redirectUri,
    scope: 'files.selected',
    options
  })
})
afterEach(async () => {
  expect(await visits.close()).toEqual([])
})

const pickerWords = (language: string): Words =>
  JSON.parse(
    readFileSync(new URL(`../services/resource-server/messages/${language}.json`, import.meta.url), 'utf8')
  ) as Words

/** The text of a message about this app. */
const about = (words: Words, key: string) => (words[key] ?? '').replace('{client}', 'Sunny Prints')

/** A browser with the consent page. */
async function openConsent(options: Parameters<typeof visits.open>[0] = {}, words = english): Promise<Page> {
  const page = await visits.open(options)
  await page.goto(app.request({ prompt: 'consent' }))
  await signIn(page, world.at, words)
  return page
}

/** From the consent page to the page for choosing. */
async function openPicker(page: Page): Promise<void> {
  const loaded = page.waitForEvent('load')
  await page.locator('button[value="choose"]').click()
  await loaded
  expect(page.url()).toMatch(new RegExp(`^${world.at.resourceUrl}/choose/[0-9a-f-]{36}$`))
}

const tick = (page: Page, name: string) => page.getByRole('checkbox', { name }).check()

async function choose(page: Page, names: readonly string[], done = 'Done'): Promise<void> {
  for (const name of names) await tick(page, name)
  await press(page, done)
}

const [INVOICE, COAST, BOLD] = ['Invoice 2026-10.pdf', 'Küste & Möwen.jpg', '<b>bold.png']

/** Allows, and redeems the code. The app itself is not reached. */
async function allow(page: Page) {
  const callback = page.waitForRequest((request) => request.url().startsWith(app.redirectUri))
  await press(page, 'Allow')
  return app.redeem(new URL((await callback).url()).searchParams)
}

describe('an unmodified app asks for files.selected', () => {
  test('the user chooses two files, and the app gets exactly these, also from the cache; later changes apply at once', async () => {
    const page = await openConsent()
    expect(await page.getByRole('main').textContent()).toContain('Nothing chosen yet')
    await openPicker(page)
    expect(await headingOf(page)).toBe('Choose files for Sunny Prints')
    expect(await page.getByRole('checkbox').count()).toBe(knownFiles.length)
    await choose(page, [INVOICE, COAST])
    expect(new URL(page.url()).origin).toBe(world.at.issuer)
    expect(await page.getByRole('main').textContent()).toContain('2 files')
    const { accessToken, files } = await allow(page)
    expect(files).toEqual([INVOICE, COAST])
    expect(await app.list(accessToken)).toEqual([INVOICE, COAST])

    await page.goto(`${world.at.issuer}/account/apps`)
    expect(await page.getByRole('main').textContent()).toContain('2 files')
    await press(page, 'Change what Sunny Prints has access to')
    expect(await headingOf(page)).toBe('Change the files of Sunny Prints')
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(2)
    await page.getByRole('checkbox', { name: INVOICE }).uncheck()
    await choose(page, [BOLD])
    expect(await page.getByRole('status').textContent()).toContain('Your choice was changed.')
    expect(await page.getByRole('main').textContent()).toContain('2 photos')
    expect((await app.list(accessToken)).toSorted()).toEqual([BOLD, COAST].toSorted())
  })

  test('Allow without a choice leads to the page for choosing, which can be cancelled', async () => {
    const page = await openConsent()
    await press(page, 'Allow')
    expect(await headingOf(page)).toBe('Choose files for Sunny Prints')
    await press(page, 'Cancel')
    expect(new URL(page.url()).origin).toBe(world.at.issuer)
    expect(await page.getByRole('main').textContent()).toContain('Nothing chosen yet')
    await openPicker(page)
    await choose(page, [INVOICE, BOLD])
    // What was chosen for this request is still ticked.
    await openPicker(page)
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(2)
    await page.getByRole('checkbox', { name: INVOICE }).uncheck()
    await press(page, 'Done')
    expect((await allow(page)).files).toEqual([BOLD])
  })

  test('without scripts: search, ticks of two views, done', async () => {
    const page = await openConsent({ javaScriptEnabled: false })
    await openPicker(page)
    await tick(page, INVOICE)
    await page.getByLabel('Search by name').fill('KÜSTE')
    await press(page, 'Show')
    expect(await page.getByRole('checkbox').count()).toBe(1)
    expect(await page.locator('#count').textContent()).toBe('Chosen: 1')
    await choose(page, [COAST])
    expect((await allow(page)).files).toEqual([INVOICE, COAST])
  })

  test('with the keyboard alone', async () => {
    const page = await openConsent()
    await openPicker(page)
    await tabTo(page, 'Search by name')
    await page.keyboard.type('invoice')
    let loaded = page.waitForEvent('load')
    await page.keyboard.press('Enter')
    await loaded
    await page.getByRole('checkbox', { name: INVOICE }).focus()
    await page.keyboard.press('Space')
    expect(await page.locator('#count').textContent()).toBe('Chosen: 1')
    await tabTo(page, 'Done')
    loaded = page.waitForEvent('load')
    await page.keyboard.press('Enter')
    await loaded
    expect(await page.getByRole('main').textContent()).toContain('1 document')
  })

  test('a link to the page for choosing works once', async () => {
    const page = await openConsent()
    const opened = page.waitForRequest((request) => request.url().includes('/choose?handover='))
    await openPicker(page)
    const link = (await opened).url()
    await page.goto(link)
    expect(await headingOf(page)).toBe('This page was opened already')
    const other = await visits.open()
    await other.goto(link)
    expect(await headingOf(other)).toBe('This page was opened already')
  })

  test('after the files are deleted, the list is empty, never complete', async () => {
    const page = await openConsent()
    await openPicker(page)
    await choose(page, [INVOICE])
    const { accessToken, files } = await allow(page)
    expect(files).toEqual([INVOICE])
    const owner = await userIdOf(world.at.username)
    await world.stack.valetkeyFiles(['delete', '--owner', owner, '--yes'])
    expect(await app.list(accessToken)).toEqual([])
    await world.stack.valetkeyFiles(['import', world.files, '--owner', owner])
    expect(await app.list(accessToken)).toEqual([])
  })
})

async function userIdOf(username: string): Promise<string> {
  type Users = { users: { username: string; user_id: string }[] }
  const { users } = await world.stack.valetkey<Users>(['users', 'list'])
  return users.find((user) => user.username === username)?.user_id ?? ''
}

describe.each(['en', 'de', 'ar'])('the page for choosing on a phone of 360 px, %s', (language) => {
  const words = pickerWords(language)

  test('is in the language of the consent page; nothing is cut off, and axe finds nothing in any state', async () => {
    const page = await openConsent({ locale: language, viewport: PHONE, reducedMotion: 'reduce' }, wordsOf(language))
    await openPicker(page)
    expect(await headingOf(page)).toBe(about(words, 'choose.title'))
    expect(await page.evaluate('document.documentElement.dir')).toBe(language === 'ar' ? 'rtl' : 'ltr')
    const address = page.url()
    const found: string[] = []
    for (const query of ['', '?q=zzz', '?notice=none', '?chosen=1']) {
      await page.goto(address + query)
      await injectAxe(page)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        found.push(...(await violationsOn(page)), ...(await layoutProblems(page)))
      }
      if (await scrollsSideways(page)) found.push(`${query} scrolls sideways`)
      await setTextSize(page, 32)
      found.push(...(await layoutProblems(page)))
      if (await scrollsSideways(page)) found.push(`${query} scrolls sideways with large text`)
      expect(await page.evaluate('getComputedStyle(document.querySelector(".bar")).position')).toBe('static')
      await setTextSize(page, 16)
    }
    expect(found).toEqual([])
    await page.goto(address)
    await choose(page, [COAST, BOLD], words['choose.done'])
    expect(new URL(page.url()).origin).toBe(world.at.issuer)
    expect(await page.locator('.selection-words').first().textContent()).toMatch(
      { en: /2 photos/, de: /2 Fotos/, ar: /صورتان/ }[language] ?? /^$/
    )
  })
})
