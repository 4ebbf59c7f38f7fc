// npm run screenshots -- --out DIR: takes pictures of every page for phone and desktop, in light and dark colours.
// With --readme, writes the pictures of docs/images.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { findChromium } from '../packages/dev-stack/lib/tests/test-environment.mjs'
import { createStack } from './support/stack.mjs'

const looks = ['en', 'ar'].flatMap((locale) =>
  [360, 1280].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ width, colorScheme, locale })))
)

const readmeLook = { width: 880, colorScheme: 'light', locale: 'en' }

const messages = new URL('../services/authorization-server/messages/', import.meta.url)

const APP_REQUEST = {
  redirect_uri: 'com.example.pocket-album:/signed-in',
  scope: 'files.read:images',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256'
}

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'e2e/artifacts/screenshots' },
    readme: { type: 'boolean', default: false }
  }
})
const out = path.resolve(process.env.INIT_CWD ?? '.', values.out)
const executablePath = findChromium(process.env)
if (executablePath === undefined) {
  console.error('This needs Chromium: install it, or name it in CHROMIUM.')
  process.exit(1)
}
mkdirSync(out, { recursive: true })

const files = makeFiles()
const stack = await createStack({ files })
const browser = await chromium.launch({ executablePath })
try {
  const at = await stack.start()
  const asking = await registerAskingClients()
  for (const look of values.readme ? [...looks, readmeLook] : looks) await photograph(look, at, asking)
  if (values.readme) renewReadme()
} finally {
  await browser.close()
  await stack.dispose()
  rmSync(files, { recursive: true })
}
console.log(out)

async function photograph({ width, colorScheme, locale }, at, asking) {
  const viewport = { width, height: width < 1000 ? 640 : 800 }
  const context = await browser.newContext({ viewport, colorScheme, locale })
  const page = await context.newPage()
  const words = JSON.parse(readFileSync(new URL(`${locale}.json`, messages), 'utf8'))
  const keep = (name) =>
    page.screenshot({ path: path.join(out, `${name}-${locale}-${width}-${colorScheme}.png`), fullPage: true })
  const open = async (name, address) => {
    await page.goto(address)
    await keep(name)
  }
  const press = async (button) => {
    const loaded = page.waitForEvent('load')
    await page
      .getByRole('button', { name: words[button] ?? button, exact: true })
      .first()
      .click()
    await loaded
  }
  const signIn = async (password) => {
    await page.getByLabel(words['login.username']).fill(at.username)
    await page.getByLabel(words['login.password']).fill(password)
    await press('login.submit')
  }

  await open('error-unknown-client', `${at.issuer}/oauth/authorize?client_id=unknown`)
  await open('error-redirect-uri', authorizeUrl(at, asking.web, { redirect_uri: 'https://elsewhere.example/' }))
  await open('error-code', `${at.issuer}/errors/invalid_grant`)
  await open('error-no-request', `${at.issuer}/consent`)
  await open('sign-in-interrupted', `${authorizeUrl(at, asking.web)}&again=interrupted`)
  await open('error-404', `${at.issuer}/nothing-here`)
  await open('demo-start', at.demoUrl)
  await press('Connect your files')
  await keep('sign-in')
  await signIn('not it')
  await keep('sign-in-failed')
  await signIn(at.password)
  await keep('consent')
  await press('consent.deny')
  await keep('demo-denied')
  await open('account-empty', `${at.issuer}/account/apps`)
  await page.goto(at.demoUrl)
  await press('Connect your files')
  await press('consent.allow')
  await keep('demo-files')
  await open('demo-start-connected', at.demoUrl)
  await open('consent-optional', authorizeUrl(at, asking.web))
  await open('consent-asked-again', `${authorizeUrl(at, asking.web)}&again=interrupted`)
  await open('consent-app', authorizeUrl(at, asking.app, { ...APP_REQUEST }))
  await open('account-apps', `${at.issuer}/account/apps`)
  await page.locator('.app button').first().click()
  await page.getByRole('status').waitFor()
  await keep('account-ended')
  await press('account.sign_out')
  await keep('signed-out')
  await context.close()
}

function renewReadme() {
  const images = fileURLToPath(new URL('../docs/images/', import.meta.url))
  mkdirSync(images, { recursive: true })
  const taken = (name) =>
    path.join(out, `${name}-${readmeLook.locale}-${readmeLook.width}-${readmeLook.colorScheme}.png`)
  copyFileSync(taken('consent'), path.join(images, 'consent.png'))
  copyFileSync(taken('demo-files'), path.join(images, 'files.png'))
}

async function registerAskingClients() {
  await stack.valetkey([
    ...['scopes', 'create', 'reports.read', '--title', 'See your reports'],
    ...['--description', 'Titles and figures of the reports in your account.'],
    ...['--title-in', 'ar=رؤية تقاريرك', '--description-in', 'ar=عناوين التقارير في حسابك وأرقامها.']
  ])
  const web = await stack.valetkey([
    ...['clients', 'create', '--name', 'Quarterly Insights for Households', '--no-refresh', '--verified'],
    ...['--redirect-uri', 'https://insights.example/oauth/callback', '--scope', 'reports.read'],
    ...['--optional-scope', 'files.read:documents files.read:images']
  ])
  const app = await stack.valetkey([
    ...['clients', 'create', '--name', 'Pocket Album', '--public'],
    ...['--redirect-uri', APP_REQUEST.redirect_uri, '--scope', APP_REQUEST.scope]
  ])
  return { web: web.client_id, app: app.client_id }
}

function authorizeUrl(at, clientId, change = {}) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'https://insights.example/oauth/callback',
    scope: 'reports.read files.read:documents files.read:images',
    state: 'a-state',
    ...change
  })
  return `${at.issuer}/oauth/authorize?${query}`
}

/** Sparse files with a size and a date. */
function makeFiles() {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-pictures-'))
  const samples = [
    ['Beach at low tide.jpg', 3_482_113, '2026-10-18T17:02:11Z'],
    ['Grandma at eighty.mp4', 218_440_902, '2026-10-04T19:47:00Z'],
    ['Invoice 2026-10.pdf', 48_213, '2026-10-31T08:15:42Z'],
    ['Lighthouse.png', 1_204_518, '2026-09-27T06:31:20Z'],
    ['Packing list.txt', 812, '2026-09-12T21:03:55Z'],
    ['Sailing, first try.jpg', 2_977_640, '2026-08-30T13:20:07Z'],
    ['Travel insurance.pdf', 96_004, '2026-08-02T10:44:31Z']
  ]
  for (const [name, size, modified] of samples) {
    const file = path.join(directory, name)
    writeFileSync(file, '')
    truncateSync(file, size)
    utimesSync(file, new Date(modified), new Date(modified))
  }
  return directory
}
