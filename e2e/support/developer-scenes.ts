import type { Page } from 'playwright-core'
import { openFresh, ownApp, pressIn, signInAgain } from './own-app.js'
import type { PagesWorld } from './pages-world.js'
import { ownPage, type Scene } from './scene.js'

/** A page of the developer's app; `below` its address. */
const ownAppPage =
  (below: string) =>
  async (page: Page, { at, developer }: PagesWorld): Promise<void> =>
    openFresh(page, (await ownApp(page, at.issuer, developer)) + below, developer)

/** The app as a draft. */
async function openDraft(page: Page, world: PagesWorld): Promise<void> {
  await ownAppPage('')(page, world)
  if ((await page.locator('form[action$="/withdraw"]').count()) > 0) await pressIn(page, 'form[action$="/withdraw"]')
}

/** A public key (RFC 7517 Appendix A.1). */
const KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM'
}

/** The page for the keys of an app that authenticates with a secret. */
async function openWithoutKeys(page: Page, world: PagesWorld): Promise<void> {
  await ownAppPage('/keys')(page, world)
  const again = page.locator('main a[href*="/login?page=developer/apps/"]')
  if ((await again.count()) > 0) await signInAgain(page, (await again.getAttribute('href')) ?? '', world.developer)
  const toSecret = 'form[action$="/keys/secret"]'
  if ((await page.locator(toSecret).count()) === 0) return
  await page.locator(toSecret).evaluate((form) => form.closest('details')?.setAttribute('open', ''))
  await pressIn(page, toSecret)
  await ownAppPage('/keys')(page, world)
}

async function sendKeys(page: Page, keys: object): Promise<void> {
  const form = 'form[action$="/keys/register"]'
  await page.locator(form).evaluate((element) => element.closest('details')?.setAttribute('open', ''))
  await page.locator('#keys').fill(JSON.stringify(keys))
  await pressIn(page, form)
}

/** The pages of users who register apps. */
export const developerScenes: readonly Scene[] = [
  { name: 'my apps, none', says: 'developer.empty', by: 'newcomer', open: ownPage('/account/developer') },
  {
    name: 'my apps',
    says: 'developer.lead',
    by: 'developer',
    open: async (page, { at, developer }) => {
      await ownApp(page, at.issuer, developer)
      await page.goto(`${at.issuer}/account/developer`)
    }
  },
  {
    name: 'new app',
    says: 'developer.scopes_advice',
    by: 'developer',
    open: (page, { at, developer }) => openFresh(page, `${at.issuer}/account/developer/new`, developer)
  },
  {
    name: 'new app, with problems',
    says: 'developer.not_saved',
    by: 'developer',
    open: async (page, { at, developer }) => {
      await openFresh(page, `${at.issuer}/account/developer/new`, developer)
      await page.locator('#redirect_uris').fill('https://chimes.example/#fragment')
      await page.locator('#home_page').fill('http://a.b/')
      await page.evaluate('document.querySelector("form").noValidate = true')
      await pressIn(page, 'form[enctype]')
    }
  },
  { name: 'own app, draft', says: 'developer.next_draft', by: 'developer', open: openDraft },
  {
    name: 'own app, requested',
    says: 'developer.done_requested',
    by: 'developer',
    open: async (page, world) => {
      await openDraft(page, world)
      await pressIn(page, 'form[action$="/request"]')
    }
  },
  {
    name: 'own app, a refused request',
    says: 'refusals.anyone',
    by: 'developer',
    open: async (page, { at, developer }) => {
      const app = await ownApp(page, at.issuer, developer)
      await page.request.get(
        `${at.issuer}/oauth/authorize?client_id=${app.split('/').at(-1)}&redirect_uri=https://x.example`
      )
      // Refusals are stored a moment later.
      do await page.goto(`${app}/refusals`)
      while ((await page.locator('.app').count()) === 0)
    }
  },
  { name: 'own app, keys, none', says: 'keys.now_secret', by: 'developer', open: openWithoutKeys },
  {
    name: 'own app, keys with problems',
    says: 'keys.unusable',
    by: 'developer',
    open: async (page, world) => {
      await openWithoutKeys(page, world)
      await sendKeys(page, { keys: [{ kty: 'RSA' }, { kty: 'oct' }] })
    }
  },
  {
    name: 'own app, keys',
    says: 'keys.rotation',
    by: 'developer',
    open: async (page, world) => {
      await openWithoutKeys(page, world)
      await sendKeys(page, {
        keys: [
          { ...KEY, kid: 'key-of-november' },
          { ...KEY, kid: 'x'.repeat(256) }
        ]
      })
    }
  },
  {
    name: 'own app, published keys',
    says: 'keys.never_fetched',
    by: 'developer',
    open: async (page, world) => {
      await openWithoutKeys(page, world)
      await page.locator('#jwks_uri').evaluate((field) => field.closest('details')?.setAttribute('open', ''))
      await page.locator('#jwks_uri').fill(`https://chimes.example/${'keys/'.repeat(20)}jwks.json`)
      await pressIn(page, 'form[action$="/keys/address"]')
    }
  },
  { name: 'own app, edit', says: 'developer.redirect_uris_advice', by: 'developer', open: ownAppPage('/edit') },
  { name: 'own app, delete', says: 'developer.delete_lead', by: 'developer', open: ownAppPage('/delete') },
  { name: 'own app, disable', says: 'developer.disable_lead', by: 'developer', open: ownAppPage('/disable') },
  {
    name: 'own app, new secret',
    says: 'developer.secret_once',
    by: 'developer',
    open: async (page, world) => {
      await openWithoutKeys(page, world)
      await ownAppPage('')(page, world)
      const again = page.locator('main a[href*="/login?page=developer/apps/"]')
      if ((await again.count()) > 0) await signInAgain(page, (await again.getAttribute('href')) ?? '', world.developer)
      if ((await page.locator('form[action$="/secrets"]').count()) === 0) {
        await pressIn(page, 'form[action$="/secrets/remove"]')
      }
      await pressIn(page, 'form[action$="/secrets"]')
    }
  }
]
