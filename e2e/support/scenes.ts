import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import type { PagesWorld } from './pages-world.js'
import { type Account, press } from './walk.js'

export type Words = Readonly<Record<string, string>>

/** A page in one of its states, and the steps to it in a new browser. */
export type Scene = {
  name: string
  /** The signed-in user; undefined without a session. */
  by?: 'alice' | 'newcomer'
  /** A message that only this state shows, to check that the right state is open. */
  says: string
  open(page: Page, world: PagesWorld, words: Words): Promise<unknown>
}

export function wordsOf(language: string): Words {
  const file = new URL(`../../services/authorization-server/messages/${language}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Words
}

/** The longest part of a message without placeholders. A text that is no message id is returned unchanged. */
export function wordsIn(says: string, words: Words): string {
  const parts = (words[says] ?? says).replace(/<[^>]*>/g, '').split(/[{}]/)
  return parts.toSorted((one, other) => other.length - one.length)[0]?.trim() ?? ''
}

export async function signIn(page: Page, { username, password }: Account, words: Words): Promise<void> {
  await page.getByLabel(words['login.username'] ?? '').fill(username)
  await page.getByLabel(words['login.password'] ?? '').fill(password)
  await press(page, words['login.submit'] ?? '')
}

const ownPage = (address: string) => (page: Page, world: PagesWorld) => page.goto(world.at.issuer + address)

export const scenes: readonly Scene[] = [
  { name: 'sign-in', says: 'login.title', open: ownPage('/login') },
  {
    name: 'sign-in for an app',
    says: 'login.to_continue',
    open: (page, { insights }) => page.goto(insights.request())
  },
  {
    name: 'sign-in, refused',
    says: 'login.failed',
    open: async (page, world, words) => {
      await page.goto(world.insights.request())
      await signIn(page, { username: 'alice', password: 'not it' }, words)
    }
  },
  {
    name: 'sign-in, resting after too many attempts',
    says: 'login.too_many_attempts',
    open: async (page, world, words) => {
      await page.goto(`${world.at.issuer}/login`)
      await signIn(page, { username: world.lockedOut, password: 'not it' }, words)
    }
  },
  {
    name: 'sign-in, interrupted',
    says: 'login.interrupted',
    open: (page, { insights }) => page.goto(`${insights.request()}&again=interrupted`)
  },
  { name: 'ways to sign in', says: 'sign_ins.lead', by: 'alice', open: ownPage('/account/sign-ins') },
  { name: 'signed out', says: 'login.signed_out', open: ownPage('/login?done=signed_out') },
  {
    name: 'signed out everywhere',
    says: 'login.signed_out_everywhere',
    open: ownPage('/login?done=signed_out_everywhere')
  },
  {
    name: 'consent',
    says: 'consent.verified',
    by: 'alice',
    open: (page, { insights }) => page.goto(insights.request({ scope: 'reports.read' }))
  },
  {
    name: 'consent, optional scopes',
    says: 'consent.optional',
    by: 'alice',
    open: (page, { insights }) => page.goto(insights.request())
  },
  {
    name: 'consent, app scheme',
    says: 'consent.app_advice',
    by: 'alice',
    open: (page, { album }) => page.goto(album.request())
  },
  {
    name: 'consent, loopback',
    says: 'consent.loopback_advice',
    by: 'alice',
    open: (page, { local }) => page.goto(local.request())
  },
  {
    name: 'consent, one new scope beside a remembered one',
    says: 'consent.remembered',
    by: 'alice',
    open: (page, { faithful }) => page.goto(faithful.request({ scope: 'files.read files.read:images' }))
  },
  {
    name: 'consent, asked again',
    says: 'consent.asked_again',
    by: 'alice',
    open: (page, { insights }) => page.goto(`${insights.request()}&again=interrupted`)
  },
  { name: 'connected apps', says: 'account.last_used', by: 'alice', open: ownPage('/account/apps') },
  {
    name: 'connected apps, one just ended',
    says: 'account.ended',
    by: 'alice',
    open: ownPage('/account/apps?done=ended')
  },
  { name: 'connected apps, none', says: 'account.empty', by: 'newcomer', open: ownPage('/account/apps') },
  { name: 'passkeys, none', says: 'passkeys.empty', by: 'newcomer', open: ownPage('/account/passkeys') },
  {
    name: 'passkeys, one just removed',
    says: 'passkeys.done_removed',
    by: 'newcomer',
    open: ownPage('/account/passkeys?done=removed')
  },
  {
    name: 'error: unknown app',
    says: 'page_error.unknown_client.title',
    open: ownPage('/oauth/authorize?client_id=unknown')
  },
  {
    name: 'error: wrong return address',
    says: 'page_error.redirect_uri_mismatch.title',
    open: (page, { insights }) => page.goto(insights.request({ redirect_uri: 'https://elsewhere.example/' }))
  },
  {
    name: 'error: request too long',
    says: 'page_error.request_too_long.title',
    open: (page, { album }) => page.goto(album.request({ state: 'x'.repeat(8_000) }))
  },
  { name: 'error: no request', says: 'page_error.no_request.title', open: ownPage('/consent') },
  { name: 'error: no such page', says: 'page_error.not_found.title', open: ownPage('/nothing-here') },
  { name: 'error: wrong method', says: 'page_error.wrong_method.title', open: ownPage('/account/apps/end') },
  {
    name: 'error: a form of another site',
    says: 'page_error.foreign_form.title',
    open: async (page, { at }) => {
      // The demo client's form-action allows redirects to the issuer.
      await page.goto(at.demoUrl)
      const loaded = page.waitForEvent('load')
      await page.evaluate(`
        const form = document.body.appendChild(document.createElement('form'))
        Object.assign(form, { method: 'post', action: ${JSON.stringify(`${at.issuer}/login`)} }).submit()`)
      await loaded
    }
  },
  { name: 'error code: invalid_grant', says: 'errors.invalid_grant.meaning', open: ownPage('/errors/invalid_grant') },
  {
    name: 'error code: temporarily_unavailable',
    says: 'errors.temporarily_unavailable.meaning',
    open: ownPage('/errors/temporarily_unavailable')
  },
  { name: 'error code, unknown', says: 'page_error.unknown_code.title', open: ownPage('/errors/nonsense') }
]

/** The demo client has only English texts. */
export const demoScenes: readonly Scene[] = [
  { name: 'demo client, start', says: 'Connect your files', open: (page, { at }) => page.goto(at.demoUrl) },
  {
    name: 'demo client, no such page',
    says: 'There is no such page',
    open: (page, { at }) => page.goto(`${at.demoUrl}/nothing-here`)
  },
  {
    name: 'demo client, denied',
    says: 'You did not allow access',
    by: 'alice',
    open: async (page, { at }) => {
      await page.goto(at.demoUrl)
      await press(page, 'Connect your files')
      await press(page, 'Deny')
    }
  },
  {
    name: 'demo client, files',
    says: 'Your files',
    by: 'alice',
    open: async (page, { at }) => {
      await page.goto(at.demoUrl)
      await press(page, 'Connect your files')
      await press(page, 'Allow')
    }
  }
]
