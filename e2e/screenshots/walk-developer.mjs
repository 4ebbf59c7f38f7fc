// A developer registers an app; an operator refuses and approves it.
const PASSWORD = 'gravel walks at dawn'
const REDIRECT_URI = 'https://chimes.example/callback'
/** A public key (RFC 7517 Appendix A.1). */
const KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM'
}

export async function walkDeveloper(camera, { at, ask, valetkey }) {
  const { open, press, keep, page, locale, signIn } = camera
  const username = `developer-${locale}`
  const list = `${at.issuer}/account/developer`
  const send = async (form) => {
    const loaded = page.waitForEvent('load')
    await page.locator(`${form} button[type=submit]`).first().click()
    await loaded
  }
  await valetkey(['users', 'create', username, '--password-stdin'], PASSWORD)
  await page.goto(`${at.issuer}/login?page=developer`)
  await signIn({ username, password: PASSWORD })
  await keep('my-apps-empty')
  await open('my-app-new', `${list}/new`)
  await page.locator('#redirect_uris').fill('https://chimes.example/#fragment')
  await page.evaluate('document.querySelector("form").noValidate = true')
  await send('form[enctype]')
  await keep('my-app-new-refused')
  await page.locator('#name').fill(`Wind Chimes ${locale}`)
  await page.locator('#redirect_uris').fill(REDIRECT_URI)
  await page.locator('#publisher').fill('Chimes Limited')
  await page.locator('[name="scope.reports.read"]').selectOption('required')
  await send('form[enctype]')
  await keep('my-app-secret')
  await open('my-apps', list)
  const app = await page.locator('.app h2 a').first().getAttribute('href')
  const clientId = app.split('/').at(-1)
  await open('consent-draft', ask.draft(clientId, REDIRECT_URI))
  await open('my-app-draft', app)
  await press('developer.request')
  await keep('my-app-requested')
  await valetkey(['apps', 'refuse', clientId, '--reason', 'The logo is that of a bank.'])
  await open('my-app-refused', app)
  await press('developer.request')
  const { revision } = await valetkey(['apps', 'show', clientId])
  await valetkey(['apps', 'approve', clientId, '--revision', String(revision)])
  await open('my-app-approved', app)
  await open('my-app-refusals-none', `${app}/refusals`)
  await page.request.get(`${at.issuer}/oauth/authorize?client_id=${clientId}&redirect_uri=https://x.example`)
  // Refusals are stored a moment later.
  do await page.goto(`${app}/refusals`)
  while ((await page.locator('.app').count()) === 0)
  await keep('my-app-refusals')
  await open('my-app-edit', `${app}/edit`)
  await page.locator('#name').fill(`Bells ${locale}`)
  await send('form[enctype]')
  await keep('my-app-change-waits')
  await walkKeys(camera, app, send)
  await open('my-app-delete', `${app}/delete`)
}

/** The app changes from its secret to keys, and to keys that it publishes. */
async function walkKeys({ open, keep, page }, app, send) {
  const unfold = (form) => page.locator(form).evaluate((element) => element.closest('details').setAttribute('open', ''))
  const register = 'form[action$="/keys/register"]'
  await open('my-app-keys-none', `${app}/keys`)
  await unfold(register)
  await page.locator('#keys').fill(JSON.stringify({ keys: [{ ...KEY, crv: 'P-384' }, { kty: 'oct' }] }))
  await send(register)
  await keep('my-app-keys-refused')
  const keys = [
    { ...KEY, kid: 'key-2026-10' },
    { ...KEY, kid: 'key-2026-11' }
  ]
  await page.locator('#keys').fill(JSON.stringify({ keys }))
  await send(register)
  await keep('my-app-keys')
  await open('my-app-with-keys', app)
  await page.goto(`${app}/keys`)
  await unfold('form[action$="/keys/address"]')
  await page.locator('#jwks_uri').fill('https://chimes.example/jwks.json')
  await send('form[action$="/keys/address"]')
  await keep('my-app-keys-published')
}
