import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { useBrowserWorld } from './browser/browser-world.js'
import { injectAxe, violationsOn } from './support/axe.js'
import { layoutProblems, setTextSize } from './support/layout.js'
import { type RegisteredApp, registerApp } from './support/registered-app.js'
import { signIn, type Words, wordsOf } from './support/scene.js'

const world = useBrowserWorld()
const phone = { width: 360, height: 640 }
/** The part of a phone's screen that a browser leaves to a page. */
const smallPhone = { width: 390, height: 664 }
const CALLBACK = 'https://prints.example/callback'
const SUMMARY = { en: '12 photos', de: '12 Fotos', ar: '12 صورة' }

let app: RegisteredApp
/** Of the API of the stack: the test takes the place of its page. */
let api: Record<string, string>

beforeAll(async () => {
  const { resource_servers: servers } = await world.stack.valetkey<{ resource_servers: { audience: string }[] }>([
    'resource-servers',
    'list'
  ])
  const audience = servers[0]?.audience ?? ''
  api = await world.stack.valetkey(['resource-servers', 'create', '--name', 'another', '--audience', audience])
  app = await registerApp(world.stack, world.at, {
    name: 'Holiday Planner for Families',
    redirectUri: CALLBACK,
    scope: 'files.read:images files.selected',
    options: ['--scope', 'files.read:images', '--optional-scope', 'files.selected']
  })
})

async function openAs(locale: string, words: Words): Promise<Page> {
  const context = await world.browser.newContext({ locale, viewport: phone, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${world.at.issuer}/login`)
  await signIn(page, world.at, words)
  await page.goto(app.request())
  return page
}

/** Presses a button that leads to the API. @returns the hand-over */
async function leave(page: Page, button: string): Promise<string> {
  await page.route('**/choose?*', (route) => route.fulfill({ body: 'the page of the API' }))
  const left = page.waitForRequest('**/choose?*')
  await page.locator(button).first().click()
  return new URL((await left).url()).searchParams.get('handover') ?? ''
}

async function callApi(step: 'start' | 'finish', body: object): Promise<Record<string, string>> {
  const credentials = Buffer.from(`${api.client_id}:${api.client_secret}`).toString('base64')
  const response = await fetch(`${world.at.internalUrl}/selections/${step}`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  return (await response.json()) as Record<string, string>
}

async function finish(page: Page, handover: string, detail: object): Promise<void> {
  await callApi('start', { handover })
  const { return_to = '' } = await callApi('finish', { handover, ...detail })
  await page.goto(return_to)
}

/** What is cut off, also with large text, and what axe finds in both colours. */
async function problemsOf(page: Page): Promise<string[]> {
  const found = await layoutProblems(page)
  await setTextSize(page, 32)
  found.push(...(await layoutProblems(page)))
  await setTextSize(page, 16)
  await injectAxe(page)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    found.push(...(await violationsOn(page)))
  }
  return found
}

describe.each(['en', 'de', 'ar'] as const)('a choice at an API, %s', (language) => {
  const words = wordsOf(language)
  const said = (key: string) => words[key] ?? ''
  const detail = { type: 'files', identifier: `sel_${language}`, summary: SUMMARY[language] }

  test('consent page and connected apps: nothing is cut off, axe finds nothing, Allow is above the fold', async () => {
    const page = await openAs(language, words)
    expect(await page.locator('.selection').textContent()).toContain(said('selections.none'))
    expect(await problemsOf(page)).toEqual([])
    await page.setViewportSize(smallPhone)
    const { y = 0, height = 0 } = (await page.locator('button[value=allow]').boundingBox()) ?? {}
    expect(y).toBeGreaterThan(0)
    expect(y + height).toBeLessThanOrEqual(smallPhone.height)
    await page.setViewportSize(phone)
    await finish(page, await leave(page, 'button[value=choose]'), detail)
    expect(await page.locator('.selection').textContent()).toContain(detail.summary)
    expect(await page.getByRole('checkbox').isChecked()).toBe(true)
    expect(await problemsOf(page)).toEqual([])

    await page.route(`${CALLBACK}*`, (route) => route.fulfill({ body: 'the app' }))
    await page.locator('button[value=allow]').click()
    await page.waitForURL(`${CALLBACK}*`)
    expect((await app.redeem(new URL(page.url()).searchParams)).status).toBe(200)
    await page.goto(`${world.at.issuer}/account/apps`)
    expect(await page.locator('.selections').textContent()).toContain(detail.summary)
    expect(await problemsOf(page)).toEqual([])
    const own = page.locator('.selection', { hasText: detail.summary }).locator('form')
    await own.evaluate((form) => form.setAttribute('id', 'own'))
    const changed = { ...detail, summary: `${detail.summary} +` }
    await finish(page, await leave(page, '#own button'), changed)
    expect(await page.getByRole('status').textContent()).toContain(said('selections.changed'))
    expect(await page.locator('.selections').textContent()).toContain(changed.summary)
    await page.context().close()
  })
})
