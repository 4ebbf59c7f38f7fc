import { developerScenes } from './developer-scenes.js'
import { ownPage, type Scene, signIn } from './scene.js'
import { press } from './walk.js'

export const scenes: readonly Scene[] = [
  ...developerScenes,
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
  {
    name: 'sign-in, without its cookie',
    says: 'login.no_cookie',
    open: async (page, world, words) => {
      await page.goto(world.insights.request())
      await page.context().clearCookies()
      await signIn(page, { username: 'alice', password: 'not sent' }, words)
    }
  },
  {
    name: 'choose an account',
    says: 'login.choose',
    by: 'alice',
    open: (page, { insights }) => page.goto(insights.request({ prompt: 'select_account' }))
  },
  {
    name: 'choose an account, another one',
    says: 'login.username',
    by: 'alice',
    open: async (page, { insights }) => {
      await page.goto(insights.request({ prompt: 'select_account' }))
      await page.locator('.account-other > summary').click()
    }
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
    says: 'consent.optional_more',
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
  {
    name: 'consent, nothing ticked',
    says: 'consent.nothing_chosen',
    by: 'alice',
    open: async (page, { slides }, words) => {
      await page.goto(slides.request())
      await press(page, words['consent.allow'] ?? '')
    }
  },
  {
    name: 'consent, with technical details',
    says: 'technical.title',
    by: 'alice',
    open: async (page, { insights }) => {
      await page.goto(insights.request())
      await page.locator('.technical summary').click()
    }
  },
  { name: 'own password', says: 'password.lead', by: 'alice', open: ownPage('/account/password') },
  { name: 'devices', says: 'sessions.lead', by: 'alice', open: ownPage('/account/sessions') },
  { name: 'a link that cannot be used', says: 'account_link.unknown.title', open: ownPage('/account-link?token=x') },
  { name: 'connected apps', says: 'account.last_used', by: 'alice', open: ownPage('/account/apps') },
  {
    name: 'connected apps, with details',
    says: 'account.may',
    by: 'alice',
    open: async (page, { at }) => {
      await page.goto(`${at.issuer}/account/apps`)
      for (const summary of await page.locator('.app summary').all()) await summary.click()
    }
  },
  {
    name: 'connected apps, asked before the end of access',
    says: 'account.end_text',
    by: 'alice',
    open: (page, { at, album }) => page.goto(`${at.issuer}/account/apps/end?client_id=${album.clientId}`)
  },
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
    name: 'error: wrong return address, with technical details',
    says: 'technical.audience',
    open: async (page, { insights }) => {
      await page.goto(insights.request({ redirect_uri: `https://elsewhere.example/${'a'.repeat(500)}` }))
      await page.locator('.technical summary').click()
    }
  },
  {
    name: 'error: request too long',
    says: 'page_error.request_too_long.title',
    open: (page, { album }) => page.goto(album.request({ state: 'x'.repeat(8_000) }))
  },
  { name: 'error: no request', says: 'page_error.no_request.title', open: ownPage('/consent') },
  { name: 'error: no such page', says: 'page_error.not_found.title', open: ownPage('/nothing-here') },
  { name: 'error: wrong method', says: 'page_error.wrong_method.title', open: ownPage('/account/sessions/end') },
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
