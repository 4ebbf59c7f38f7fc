// The ways through the pages. Each one starts in a new browser profile and takes a picture of every page and state on its way.
const PASSWORD = 'gravel walks at dawn'
const OTHER_BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'
]
const NAMES = { en: 'robin', de: 'jana', ar: 'salma' }

/** A user of this language. */
const nameOf = (locale) => NAMES[locale] ?? `user-${locale}`

export async function walkErrors(camera, { at, ask }) {
  const { open } = camera
  await open('error-unknown-client', `${at.issuer}/oauth/authorize?client_id=unknown`)
  await open('error-redirect-uri', ask.web({ redirect_uri: 'https://elsewhere.example/' }))
  await camera.page.locator('.technical summary').click()
  await camera.keep('error-technical')
  await open('error-code', `${at.issuer}/errors/invalid_grant`)
  await open('error-no-request', `${at.issuer}/consent`)
  await open('error-404', `${at.issuer}/nothing-here`)
  await open('error-method', `${at.issuer}/account/sessions/end`)
  await open('error-link-unknown', `${at.issuer}/account-link?token=unknown`)
  await open('error-linking-over', `${at.issuer}/login/link?proposal=unknown`)
  await open('signed-out', `${at.issuer}/login?done=signed_out`)
  await open('signed-out-everywhere', `${at.issuer}/login?done=signed_out_everywhere`)
}

/** The overview for operators; it is in English in every language. */
export async function walkOperator(camera, { at }) {
  const { open, page, keep } = camera
  await open('operator', at.operatorUrl)
  await page.locator('summary').click()
  await keep('operator-all-checks')
}

/** Through the demo app, as alice: up to her files. */
export async function walkDemo(camera, { at, ask }) {
  const { open, press, follow, keep, signIn, page } = camera
  // The page needs the cookie of an earlier one.
  await page.goto(`${at.issuer}/login`)
  await open('sign-in-interrupted', ask.web({ again: 'interrupted' }))
  await open('demo-start', at.demoUrl)
  await press('Connect your files')
  await keep('sign-in')
  await signIn({ username: at.username, password: 'not it' })
  await keep('sign-in-failed')
  await signIn(at)
  await keep('consent')
  await press('consent.deny')
  await keep('demo-denied')
  await page.goto(at.demoUrl)
  await press('Connect your files')
  await press('consent.allow')
  await keep('demo-files')
  await open('demo-start-connected', at.demoUrl)
  await open('consent-other-api', ask.photos())
  await open('consent-with-logo', ask.sunny())
  await open('choose-account', ask.sunny({ prompt: 'select_account' }))
  await open('consent-optional', ask.web())
  await open('consent-asked-again', ask.web({ again: 'interrupted' }))
  await open('consent-all-optional', ask.optional())
  await press('consent.allow')
  await keep('consent-nothing-chosen')
  await open('consent-app', ask.app())
  await open('consent-loopback', ask.local())
  await page.locator('.technical summary').click()
  await keep('consent-technical')
  await page.goto(ask.faithful())
  if (new URL(page.url()).pathname === '/consent') await allow(page, at)
  await open('consent-remembered', ask.faithful({ scope: 'files.read:documents files.read:images' }))
  await open('account-apps', `${at.issuer}/account/apps`)
  await page.locator('.app summary').first().click()
  await keep('account-apps-details')
  await page.locator('a[href*="/account/apps/shorten"]').first().click()
  await keep('account-app-shorten')
  await untilReported(camera, at)
  await keep('account-apps-activity')
  await follow('link', 'account.end_label', { client: 'Family Calendar' })
  await keep('account-app-end')
  await press('account.end')
  await keep('account-apps-ended')
}

/** The file list reports within half a minute what the demo app listed. Opens the details of that app. */
async function untilReported({ page, textOf }, { issuer }) {
  const app = page.locator('.app', { hasText: textOf('activity.title') })
  do await page.goto(`${issuer}/account/apps`)
  while ((await app.count()) === 0)
  await app.locator('summary').first().click()
}

/** Without following the redirect: there is no such site. */
async function allow(page, { issuer }) {
  const form = page.locator('form').first()
  const { action, fields } = await form.evaluate((element) => ({
    action: element.action,
    fields: Object.fromEntries(new FormData(element))
  }))
  const headers = { origin: issuer }
  await page.request.post(action, { form: { ...fields, decision: 'allow' }, headers, maxRedirects: 0 })
}

/** Sign-in with the demo provider and the login page, with everything that can go wrong. */
export async function walkForeign(camera, { at, loginPageLabel, atLoginPage }) {
  const { open, press, follow, keep, signIn, page } = camera
  for (const [name, error] of [
    ['stopped', 'access_denied'],
    ['unavailable', 'temporarily_unavailable'],
    ['misconfigured', 'invalid_scope']
  ]) {
    await page.goto(at.demoUrl)
    await press('Connect your files')
    await returnFromProvider(page, at, error)
    await keep(`sign-in-${name}`)
  }
  await open('sign-in-unknown', `${at.issuer}/login/with/demo/callback?state=unknown`)
  await page.goto(`${at.issuer}/login/handoff`)
  await page.locator('input[name=username]').fill(atLoginPage.username)
  await page.locator('input[name=password]').fill(atLoginPage.password)
  await follow('button', 'Sign in')
  await keep('sign-in-not-linked')
  await page.goto(`${at.issuer}/login`)
  await follow('link', 'login.with', { label: 'Demo provider' })
  await keep('demo-provider')
  await press('Sign in as Casey')
  await keep('account-apps-empty-provider')
  await open('password-first', `${at.issuer}/account/password`)
  await open('passkeys-not-local', `${at.issuer}/account/passkeys`)
  await open('sign-ins-only-way', `${at.issuer}/account/sign-ins`)
  await page.context().clearCookies()
  await page.goto(`${at.issuer}/login/handoff`)
  await follow('link', 'Cancel')
  await keep('sign-in-handoff-stopped')
  await page.goto(`${at.issuer}/login?done=signed_out`)
  await signIn({ username: at.username, password: at.password })
  await page.goto(`${at.issuer}/account/sign-ins`)
  await keep('sign-ins')
  await link(camera, loginPageLabel, atLoginPage)
}

async function link({ follow, press, keep, page, textOf }, label, account) {
  await follow('link', 'sign_ins.link', { label })
  await page.locator('input[name=username]').fill(account.username)
  await page.locator('input[name=password]').fill(account.password)
  await follow('button', 'Sign in')
  await keep('linking')
  await press('linking.confirm')
  await keep('sign-ins-linked')
  await page.getByRole('button', { name: textOf('sign_ins.unlink_label', { label }) }).click()
  await page.getByRole('status').waitFor()
  await keep('sign-ins-unlinked')
}

/** Comes back as if the provider had answered with this error. */
async function returnFromProvider(page, at, error) {
  const start = await page.locator('main a.button').first().getAttribute('href')
  const left = await page.request.get(start, { maxRedirects: 0 })
  const { searchParams } = new URL(left.headers().location)
  const parameters = { error, state: searchParams.get('state'), iss: at.demoProviderUrl }
  await page.goto(`${searchParams.get('redirect_uri')}?${new URLSearchParams(parameters)}`)
}

/** A user with an invitation, and their account. */
export async function walkAccount(camera, { at, valetkey }) {
  const { open, press, keep, page, locale } = camera
  const username = nameOf(locale)
  const { url } = await valetkey(['users', 'create', username])
  await open('invitation', url)
  await page.locator('#new-password').fill('123456789012345')
  await press('account_link.submit')
  await keep('invitation-bad-password')
  await page.locator('#new-password').fill(PASSWORD)
  await press('account_link.submit')
  await keep('account-apps-empty')
  await open('password', `${at.issuer}/account/password`)
  await page.locator('#new-password').fill(username.repeat(4))
  await press('password.submit')
  await keep('password-refused')
  await page.locator('#new-password').fill(`${PASSWORD} again`)
  await page.locator('.show-password').first().click()
  await keep('password-shown')
  await press('password.submit')
  await keep('password-saved')
  await walkPasskeys(camera, at)
  const { url: resetUrl } = await valetkey(['users', 'reset-link', username])
  await open('reset-link', resetUrl)
  await page.locator('#new-password').fill('short')
  await page.locator('#end-access').check()
  await press('account_link.submit')
  await keep('reset-link-bad-password')
}

async function walkPasskeys({ open, press, keep, page, locale, textOf }, at) {
  await addAuthenticator(page)
  await open('passkeys-empty', `${at.issuer}/account/passkeys`)
  await page.locator('#name').fill(`Laptop (${locale})`)
  await press('passkeys.add_submit')
  await keep('passkeys-added')
  await page.locator('summary').first().click()
  await keep('passkeys-rename')
  await page.getByRole('button', { name: textOf('passkeys.remove_label', { name: `Laptop (${locale})` }) }).click()
  await page.getByRole('status').waitFor()
  await keep('passkeys-removed')
}

/** Part of the device; it responds without a dialog. */
async function addAuthenticator(page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const abilities = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true }
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', automaticPresenceSimulation: true, ...abilities }
  })
}

/** The list of signed-in browsers, after others have signed in as the same user. */
export async function walkDevices(camera, { at }) {
  const { open, keep, press, page, signIn } = camera
  await page.goto(`${at.issuer}/login`)
  await signIn(at)
  for (const userAgent of OTHER_BROWSERS) await signInElsewhere(page.context().browser(), at, userAgent)
  await open('devices', `${at.issuer}/account/sessions`)
  await press('sessions.end_others')
  await keep('devices-ended')
}

async function signInElsewhere(browser, at, userAgent) {
  const context = await browser.newContext({ userAgent })
  const page = await context.newPage()
  await page.goto(`${at.issuer}/login`)
  await page.locator('#username').fill(at.username)
  await page.locator('#password').fill(at.password)
  await Promise.all([page.waitForEvent('load'), page.locator('form button[type=submit]').first().click()])
  await context.close()
}
