import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { appearanceViolationsOn, injectAxe, violationsOn } from './support/axe.js'
import { launchChromium } from './support/chromium.js'
import { makeKnownFiles } from './support/known-files.js'
import { layoutProblems, setTextSize } from './support/layout.js'
import { createPagesWorld, type PagesWorld } from './support/pages-world.js'
import { type Scene, signIn, wordsIn, wordsOf } from './support/scene.js'
import { demoScenes, scenes } from './support/scenes.js'
import { createVisits } from './support/visits.js'
import { type Addresses, createStack, type Stack } from './system/stack.mjs'

const phone = { width: 360, height: 640 }
const desk = { width: 1280, height: 800 }
/** The part of a phone's screen that a browser leaves to a page. */
const smallPhone = { width: 390, height: 664 }
/** Script: whether each button has an edge. */
const HAVE_EDGES = `[...document.querySelectorAll('.button')].map((button) => {
  const { borderTopStyle, borderTopWidth } = getComputedStyle(button)
  return borderTopStyle === 'solid' && parseFloat(borderTopWidth) >= 1
})`
/** Script: which elements are visible. */
const VISIBLE = '[...document.body.querySelectorAll("*")].map((element) => element.checkVisibility()).join()'
const IN_FORCED_COLORS = ['sign-in', 'consent', 'connected apps', 'devices', 'own app, draft']

/** The desktop window at a zoom of 200 %. */
const zoomedDesk = { width: 640, height: 400 }

type Look = { viewport: typeof phone; colorScheme: 'light' | 'dark' }

const looks: readonly Look[] = [
  { viewport: desk, colorScheme: 'light' },
  { viewport: desk, colorScheme: 'dark' },
  { viewport: phone, colorScheme: 'dark' },
  { viewport: phone, colorScheme: 'light' }
]

describe('every page in every state', () => {
  let files: ReturnType<typeof makeKnownFiles>
  let stack: Stack
  let at: Addresses
  let browser: Browser
  let world: PagesWorld
  const visits = createVisits(() => ({ browser, origins: [world.at.issuer, world.at.demoUrl] }))
  const pages = new Map<string, Page>()
  const sessions = new Map<string, NonNullable<BrowserContextOptions['storageState']>>()

  beforeAll(async () => {
    files = makeKnownFiles()
    stack = await createStack({ files: files.directory, environment: { DEVELOPER_APPS: 'approved' } })
    ;[at, browser] = await Promise.all([stack.start(), launchChromium()])
    world = await createPagesWorld(stack, at)
  })

  afterEach(() => {
    expect(visits.complaints()).toEqual([])
  })

  afterAll(async () => {
    await browser?.close()
    await stack?.dispose()
    files?.remove()
  })

  /** One browser for each user and language, so that a user signs in once. */
  async function pageOf(by: Scene['by'], language: string): Promise<Page> {
    const known = pages.get(`${by} ${language}`)
    if (known !== undefined) return known
    const session = by && sessions.get(by)
    const settings = { locale: language, reducedMotion: 'reduce' } as const
    const page = await visits.open({ ...settings, ...(session && { storageState: session }) })
    pages.set(`${by} ${language}`, page)
    if (by === undefined || session !== undefined) return page
    await page.goto(`${at.issuer}/login`)
    await signIn(page, world[by], wordsOf(language))
    sessions.set(by, await page.context().storageState())
    return page
  }

  async function open(scene: Scene, language: string): Promise<Page> {
    const page = await pageOf(scene.by, language)
    await resize(page, desk)
    const words = wordsOf(language)
    await scene.open(page, world, words)
    expect(await page.getByRole('main').textContent()).toContain(wordsIn(scene.says, words))
    return page
  }

  test('a request for Arabic (ui_locales) is kept until the consent page in an English browser', async () => {
    const page = await visits.open({ locale: 'en' })
    await page.goto(world.insights.request({ ui_locales: 'xx ar' }))
    await signIn(page, world.alice, wordsOf('ar'))
    expect(await page.getByRole('main').textContent()).toContain(wordsOf('ar')['consent.optional_more'])
    expect(await page.evaluate('document.documentElement.dir')).toBe('rtl')
  })

  describe.each([
    { language: 'en', direction: 'ltr', looks },
    { language: 'ar', direction: 'rtl', looks },
    // The language with the longest words. Other findings of axe depend on the templates, which are the same for all.
    { language: 'de', direction: 'ltr', looks: [] }
  ])('$language', ({ language, direction, looks }) => {
    test.each(scenes)('$name: nothing is cut off, nothing scrolls horizontally, axe finds nothing', async (scene) => {
      const page = await open(scene, language)
      const declared = await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')
      expect(declared).toEqual([language, direction])
      expect({ ...(await unreadable(page)), ...(await inaccessible(page, looks)) }).toEqual({})
    })
  })

  describe.each(['en', 'de', 'ar'])('%s, on a phone of 390 x 664', (language) => {
    test.each([
      { name: 'a checked app', app: 'insights' },
      { name: 'an unchecked app with long access', app: 'planner' }
    ] as const)('$name asks for three scopes: Allow and Deny are visible without scrolling', async ({ app }) => {
      const page = await pageOf('alice', language)
      await resize(page, smallPhone)
      await page.goto(world[app].request())
      expect(await page.locator('.scope').count()).toBe(3)
      const [allow, deny] = [await boxOf(page, 'allow'), await boxOf(page, 'deny')]
      expect(allow.y + allow.height).toBeLessThanOrEqual(smallPhone.height)
      expect([deny.y, deny.width, deny.height]).toEqual([allow.y, allow.width, allow.height])
    })

    test('three connected apps are visible without scrolling', async () => {
      const page = await pageOf('alice', language)
      await resize(page, smallPhone)
      await page.goto(`${at.issuer}/account/apps`)
      expect(await page.locator('.app').count()).toBe(3)
      const { bottom } = await page.locator('.apps').evaluate((list) => list.getBoundingClientRect())
      expect(bottom).toBeLessThanOrEqual(smallPhone.height)
    })
  })

  test.each(scenes.filter(({ name }) => IN_FORCED_COLORS.includes(name)))(
    '$name: with forced colours every button has an edge',
    async (scene) => {
      const page = await open(scene, 'en')
      await page.emulateMedia({ forcedColors: 'active' })
      const edges = await page.evaluate<boolean[]>(HAVE_EDGES)
      await page.emulateMedia({ forcedColors: 'none' })
      expect(edges.length).toBeGreaterThan(0)
      expect(edges).not.toContain(false)
    }
  )

  test.each(demoScenes)('$name: axe finds nothing', async (scene) => {
    expect(await inaccessible(await open(scene, 'en'), looks)).toEqual({})
  })
})

async function boxOf(page: Page, decision: 'allow' | 'deny') {
  const box = await page.locator(`button[value=${decision}]`).boundingBox()
  if (box === null) throw new Error(`the page does not show ${decision}`)
  return box
}

/** Returns for each window the text that is not readable in it. */
async function unreadable(page: Page): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const [name, viewport, textSize] of [
    ['desk, text of 200 %', desk, 32],
    ['phone, text of 200 %', phone, 32],
    ['phone', phone, 16],
    ['desk, zoomed to 200 %', zoomedDesk, 16],
    ['desk', desk, 16]
  ] as const) {
    await resize(page, viewport)
    await setTextSize(page, textSize)
    found[name] = await layoutProblems(page)
  }
  return withProblems(found)
}

/** Returns for each appearance the findings of axe. Every rule runs once for each set of visible elements. */
async function inaccessible(page: Page, looks: readonly Look[]): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  const checked = new Set<unknown>()
  if (looks.length > 0) await injectAxe(page)
  for (const { viewport, colorScheme } of looks) {
    await resize(page, viewport)
    await page.emulateMedia({ colorScheme })
    const visible = await page.evaluate(VISIBLE)
    const findings = checked.has(visible) ? appearanceViolationsOn(page) : violationsOn(page)
    found[`${viewport.width} wide, ${colorScheme}`] = await findings
    checked.add(visible)
  }
  return withProblems(found)
}

async function resize(page: Page, viewport: typeof phone): Promise<void> {
  const { width, height } = page.viewportSize() ?? {}
  if (width !== viewport.width || height !== viewport.height) await page.setViewportSize(viewport)
}

function withProblems(found: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(found).filter(([, problems]) => problems.length > 0))
}
