import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { useBrowserWorld } from './browser/browser-world.js'
import { injectAxe, violationsOn } from './support/axe.js'
import { layoutProblems, setTextSize } from './support/layout.js'
import { type RegisteredApp, registerApp } from './support/registered-app.js'
import { signIn, type Words, wordsOf } from './support/scene.js'
import { press } from './support/walk.js'

const world = useBrowserWorld({ ACCESS_CHOICES: '1h,1d,30d,until_ended' })
const phone = { width: 360, height: 640 }
/** The part of a phone's screen that a browser leaves to a page. */
const smallPhone = { width: 390, height: 664 }
let app: RegisteredApp
/** With all kinds of scopes. */
let wide: RegisteredApp

beforeAll(async () => {
  const scopes = [
    '--scope',
    'files.read',
    '--optional-scope',
    'files.read:images files.read:documents files.read:media'
  ]
  wide = await registerApp(world.stack, world.at, {
    name: 'Donaudampfschifffahrtsgesellschaftsbilder',
    redirectUri: 'https://wide.example/callback',
    scope: 'files.read files.read:images files.read:documents files.read:media',
    options: scopes
  })
  app = await registerApp(world.stack, world.at, {
    name: 'Holiday Planner for Families',
    redirectUri: 'https://planner.example/callback'
  })
})

/** A page of a signed-in user on a phone. */
async function openAs(locale: string, words: Words, address: string): Promise<Page> {
  const context = await world.browser.newContext({ locale, viewport: phone, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${world.at.issuer}/login`)
  await signIn(page, world.at, words)
  await page.goto(address)
  return page
}

/** What is cut off, and what axe finds, in both colours. German has the longest words; the templates are the same for all languages. */
async function problemsOf(page: Page): Promise<string[]> {
  const found = await layoutProblems(page)
  if ((await page.evaluate('document.documentElement.lang')) === 'de') return found
  await injectAxe(page)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    found.push(...(await violationsOn(page)))
  }
  return found
}

/** Script: Allow and Deny are in the window, beside each other, and above everything else. */
const DECISION = `['allow', 'deny'].map((value) => {
  const button = document.querySelector('button[value=' + value + ']')
  const { left, right, top, bottom } = button.getBoundingClientRect()
  const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
  return top >= 0 && bottom <= innerHeight && button.contains(above)
})`
/** Script: what has the focus, and whether something lies over it or its label. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const isFree = (part) => {
    // A link may have two lines.
    const [{ left, right, top, bottom }] = part.getClientRects()
    const at = (y) => part.contains(document.elementFromPoint((left + right) / 2, y))
    return top >= 0 && bottom <= innerHeight && at(top + 2) && at(bottom - 2)
  }
  return [element.id || element.value || element.localName, [element, ...(element.labels ?? [])].every(isFree)]
})()`

describe.each(['en', 'de', 'ar'])('the decision on a phone of 390 x 664, %s', (language) => {
  const words = wordsOf(language)

  test('Allow and Deny of a long page are visible at its start and its end, with forced colours, too', async () => {
    const page = await openAs(language, words, wide.request())
    await page.setViewportSize(smallPhone)
    for (const forcedColors of ['none', 'active'] as const) {
      await page.emulateMedia({ forcedColors })
      await page.evaluate('scrollTo(0, 0)')
      expect(await page.evaluate('document.documentElement.scrollHeight > innerHeight + 100')).toBe(true)
      expect(await page.evaluate(DECISION)).toEqual([true, true])
      await page.evaluate('document.querySelector("form").scrollIntoView({ block: "end" })')
      expect(await page.evaluate(DECISION)).toEqual([true, true])
    }
    await page.emulateMedia({ forcedColors: 'none' })
    expect(await problemsOf(page)).toEqual([])
    await page.context().close()
  })

  test('nothing that gets the focus with the keyboard is behind Allow and Deny, in either direction', async () => {
    const page = await openAs(language, words, wide.request())
    await page.setViewportSize(smallPhone)
    const reached: string[] = []
    for (const key of ['Tab', 'Shift+Tab']) {
      for (let step = 0; step < 20; step += 1) {
        await page.keyboard.press(key)
        const [name, isFree] = await page.evaluate<[string, boolean]>(FOCUSED)
        if (name === 'body') break
        expect([key, name, isFree]).toEqual([key, name, true])
        reached.push(name)
      }
    }
    expect(reached).toEqual(expect.arrayContaining(['scope-0', 'scope-1', 'scope-2', 'end-1h', 'allow', 'deny', 'a']))
    await page.context().close()
  })

  test('with large text, Allow and Deny stay at the end of the page', async () => {
    const page = await openAs(language, words, wide.request())
    await page.setViewportSize(smallPhone)
    await setTextSize(page, 32)
    expect(await page.evaluate('getComputedStyle(document.querySelector(".decision")).position')).toBe('static')
    expect(await layoutProblems(page)).toEqual([])
    await page.context().close()
  })
})

describe.each(['en', 'de', 'ar'])('the end of access on a phone, %s', (language) => {
  const words = wordsOf(language)
  const said = (key: string) => words[key] ?? ''

  test('the consent page asks for it: nothing is cut off, axe finds nothing, and Deny needs no choice', async () => {
    const page = await openAs(language, words, app.request())
    expect(
      await page
        .getByRole('group', { name: said('choices.title') })
        .getByRole('radio')
        .count()
    ).toBe(4)
    expect(await problemsOf(page)).toEqual([])
    await page.getByRole('button', { name: said('consent.allow') }).click()
    // The browser itself asks for a choice.
    expect(new URL(page.url()).pathname).toBe('/consent')
    expect(await page.evaluate('document.activeElement.name')).toBe('access_ends')
    const asked = page.waitForRequest((request) => request.url().startsWith(app.redirectUri))
    await page.getByRole('button', { name: said('consent.deny') }).click()
    expect(new URL((await asked).url()).searchParams.get('error')).toBe('access_denied')
    await page.context().close()
  })

  test('the consent page without a choice, from a browser that does not ask for it: axe finds nothing', async () => {
    const page = await openAs(language, words, app.request())
    await page.evaluate('for (const input of document.querySelectorAll("[required]")) input.required = false')
    await press(page, said('consent.allow'))
    expect(await page.getByRole('alert').count()).toBe(1)
    expect(await problemsOf(page)).toEqual([])
    await page.context().close()
  })

  test('connected apps show and shorten it: nothing is cut off, and axe finds nothing', async () => {
    const user = simulateUser(world.at.issuer, world.at)
    const asked = await user.open(new URL(app.request()))
    const { url } = await user.browser.submit(asked, { decision: 'allow', access_ends: '30d' })
    await app.redeem(url.searchParams)
    const page = await openAs(language, words, `${world.at.issuer}/account/apps`)
    expect(await problemsOf(page)).toEqual([])
    await page
      .getByRole('link', { name: said('account.shorten_label').split('{')[0] ?? '' })
      .first()
      .click()
    expect(
      await page
        .getByRole('group', { name: said('choices.from_now') })
        .getByRole('radio')
        .count()
    ).toBe(2)
    expect(await problemsOf(page)).toEqual([])
    await page.locator('input[value="1d"]').check()
    await press(page, said('choices.shorten'))
    expect(await page.getByRole('status').count()).toBe(1)
    // Each language has the app anew.
    await page.goto(`${world.at.issuer}/account/apps/end?client_id=${app.clientId}`)
    await press(page, said('account.end'))
    await page.context().close()
  })
})
