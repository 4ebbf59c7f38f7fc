import { createHttpBrowser } from '../../packages/dev-stack/lib/client/http-browser.mjs'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import type { Addresses, Stack } from '../system/stack.mjs'
import { type RegisteredApp, registerApp } from './registered-app.js'
import type { Account } from './walk.js'

/** Users and apps for every state of every page. */
export type PagesWorld = {
  at: Addresses
  /** A verified app with a required and two optional scopes. */
  insights: RegisteredApp
  /** An app that no operator verified, with a required and two optional scopes and refresh tokens. */
  planner: RegisteredApp
  /** Redirects to a private-use URI scheme. */
  album: RegisteredApp
  /** Redirects to a loopback address. */
  local: RegisteredApp
  /** Has only optional scopes. */
  slides: RegisteredApp
  /** Remembers consent, and alice has allowed it the list of her files. */
  faithful: RegisteredApp
  /** The user of all of these apps. */
  alice: Account
  /** The user without apps. */
  newcomer: Account
  /** The user who registers an app. */
  developer: Account
  /** An account name whose limit of failed sign-ins is reached. */
  lockedOut: string
}

// The limit of failures of one account from one address in 15 minutes, as in the contract.
const ATTEMPTS = 20

export async function createPagesWorld(stack: Stack, at: Addresses): Promise<PagesWorld> {
  const newcomer = { username: 'newcomer', password: 'correct horse battery staple' }
  const developer = { username: 'developer', password: 'correct horse battery staple' }
  const lockedOut = 'mallory'
  await stack.valetkey([
    'scopes',
    'create',
    'reports.read',
    '--title',
    'See your reports',
    '--description',
    'Titles and figures of the reports in your account.',
    '--title-in',
    'ar=رؤية تقاريرك',
    '--description-in',
    'ar=عناوين التقارير في حسابك وأرقامها.',
    '--title-in',
    'de=Ihre Berichte sehen',
    '--description-in',
    'de=Titel und Zahlen der Berichte in Ihrem Konto.',
    '--self-service'
  ])
  const [insights, planner, album, local, slides, faithful] = await Promise.all([
    registerApp(stack, at, {
      name: 'Quarterly Insights for Households',
      redirectUri: 'https://insights.example/oauth/callback',
      scope: 'reports.read files.read:documents files.read:images',
      options: [
        '--scope',
        'reports.read',
        '--optional-scope',
        'files.read:documents files.read:images',
        '--verified',
        '--no-refresh'
      ]
    }),
    registerApp(stack, at, {
      name: 'Holiday Planner for Families',
      redirectUri: 'https://planner.example/callback',
      scope: 'reports.read files.read:documents files.read:images',
      options: ['--scope', 'reports.read', '--optional-scope', 'files.read:documents files.read:images']
    }),
    registerApp(stack, at, {
      name: 'Donaudampfschifffahrtsgesellschaftskapitänsbilder',
      redirectUri: 'com.example.donaudampfschifffahrtsgesellschaft.pocket-album:/signed-in',
      scope: 'files.read:images',
      options: ['--scope', 'files.read:images', '--public']
    }),
    registerApp(stack, at, { name: 'Backup', redirectUri: 'http://127.0.0.1:8976/callback' }),
    registerApp(stack, at, {
      name: 'Slide Show',
      redirectUri: 'https://slides.example/callback',
      scope: 'files.read:documents files.read:images',
      options: ['--optional-scope', 'files.read:documents files.read:images']
    }),
    registerApp(stack, at, {
      name: '<b>Faithful</b> & Söhne',
      redirectUri: 'https://faithful.example/callback',
      options: ['--scope', 'files.read', '--optional-scope', 'files.read:images', '--consent', 'remember']
    }),
    ...[newcomer, developer].map(({ username, password }) =>
      stack.valetkey(['users', 'create', username, '--password-stdin'], password)
    ),
    failToSignIn(at.issuer, lockedOut)
  ])
  const alice = { username: at.username, password: at.password }
  const aliceAtHome = simulateUser(at.issuer, alice)
  for (const app of [insights, album, faithful]) {
    const { searchParams } = await aliceAtHome.decide(new URL(app.request()), 'allow')
    // The last app never exchanges its code, so it has no access to end.
    if (app !== faithful) await app.redeem(searchParams)
  }
  return { at, insights, planner, album, local, slides, faithful, alice, newcomer, developer, lockedOut }
}

async function failToSignIn(issuer: string, username: string): Promise<void> {
  const browser = createHttpBrowser(issuer)
  let page = await browser.open(new URL(`${issuer}/login`))
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    page = await browser.submit(page, { username, password: 'not it' })
  }
}
