import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import {
  type AuthorizeCase,
  type AuthorizeCases,
  OTHER_AUDIENCE,
  openAuthorizeCases,
  S256
} from '../../support/authorize-cases.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../support/forging-provider.js'
import { HANDOFF, insertIdentity, passHandoff } from '../../support/handoff.js'
import { providerSetting, providersSetting, signInWith } from '../../support/provider-sign-in.js'

let cases: AuthorizeCases

beforeAll(async () => {
  cases = await openAuthorizeCases()
})
afterAll(() => cases.close())

const ACCEPTED: readonly AuthorizeCase[] = [
  { name: 'only required parameters and state' },
  { name: 'an optional scope alone', change: { scope: 'files.read:images' } },
  { name: 'all scopes', change: { scope: 'files.read:images files.read' } },
  { name: 'one scope named twice', change: { scope: 'files.read files.read' } },
  { name: 'an S256 challenge', change: S256 },
  { name: 'an S256 challenge, public client', client: 'public', change: S256 },
  { name: 'an S256 challenge, client that requires PKCE', client: 'pkce', change: S256 },
  { name: 'an empty challenge and an empty method', change: { code_challenge: '', code_challenge_method: '' } },
  { name: 'the default resource by name', change: { resource: AUDIENCE } },
  { name: 'the default resource with a slash', change: { resource: `${AUDIENCE}/` } },
  { name: 'another registered resource', change: { resource: OTHER_AUDIENCE, scope: 'photos.read' } },
  { name: 'a scope of another API without resource', change: { scope: 'photos.read' } },
  { name: 'no scope, and a resource with a default scope', change: { resource: OTHER_AUDIENCE, scope: undefined } },
  { name: 'an empty resource', change: { resource: '' } },
  { name: 'no state', change: { state: undefined } },
  { name: 'an empty second state', appended: '&state=' },
  { name: 'an unknown parameter', appended: '&foo=bar' },
  { name: 'an unknown parameter, repeated', appended: '&foo=1&foo=2' },
  { name: 'an unknown parameter that is malformed', appended: '&foo=%00%FF%zz' },
  { name: 'an unknown parameter with a malformed name', appended: '&%zz=1&%FF=2' },
  { name: 'names of JavaScript objects', appended: '&__proto__=1&constructor=2&toString=3&__proto__[state]=4' },
  { name: 'known parameters with brackets', appended: '&scope[]=files.write&state[a]=1&response_type[]=token' },
  { name: 'known parameters in upper case', appended: '&SCOPE=files.write&State=1&Response_Type=token' },
  { name: 'ampersands and equals signs alone', appended: '&&&=&==&a&b=' },
  { name: 'prompt=login&max_age=0', appended: '&prompt=login&max_age=0' },
  { name: 'an unknown prompt', appended: '&prompt=create' },
  { name: 'a request object', appended: '&request=eyJhbGciOiJub25lIn0.e30.' },
  { name: 'a request_uri', appended: '&request_uri=https%3A%2F%2Fevil.example%2Frequest' },
  { name: 'response_mode=fragment', appended: '&response_mode=fragment' },
  { name: 'nonce, display, login_hint, ui_locales', appended: '&nonce=n&display=popup&login_hint=alice&ui_locales=de' },
  { name: 'a code_verifier', appended: `&code_verifier=${'v'.repeat(43)}` },
  { name: 'a client_secret', appended: '&client_secret=vk_cs_x' },
  { name: 'parameters named resume and again', appended: '&resume=abc&resume=def&again=abc' },
  { name: 'parameters named purpose, token and page', appended: '&purpose=invitation&token=abc&page=password' }
]

/** Valetkey uses these names itself, in addresses without an authorization request. */
const OWN_NAMES = ['purpose=link', 'purpose=invitation&token=abc', 'page=password', 'done=signed_out']

describe('an accepted request redirects to the sign-in page', () => {
  test.each(ACCEPTED)('$name', async (request) => {
    const answer = await cases.authorize(request)
    expect(answer.statusCode).toBe(303)
    const location = String(answer.headers.location)
    expect(location.startsWith(`${ISSUER}/login?`)).toBe(true)
    expect(location).not.toMatch(/resume|again/)
  })
})

describe('an accepted request with a parameter that Valetkey uses itself signs in and reaches the consent page', () => {
  let provider: ForgingProvider
  let server: TestServer
  let clientId: string
  beforeAll(async () => {
    provider = await startForgingProvider()
    server = await startTestServer({ ...HANDOFF, ...providersSetting(providerSetting(provider)) })
    clientId = (await server.createClient()).clientId
    await insertIdentity(server, await server.createUser('alice', PASSWORD), 'alice at the login page')
  })
  afterAll(async () => {
    await server?.close()
    await provider?.close()
  })

  test.each(OWN_NAMES)('%s, with a provider', async (appended) => {
    const query = `${new URL(authorizeUrl(clientId)).search.slice(1)}&${appended}`
    const browser = server.newBrowser()
    const page = await signInWith(provider, browser, { query })
    expect(page.headers.location).toBe(`${ISSUER}/oauth/authorize?${query}`)
    expect((await browser.open(page.headers.location ?? '')).url).toMatch(`${ISSUER}/consent?`)
  })

  test.each(OWN_NAMES)('%s, with the login page', async (appended) => {
    const start = `${authorizeUrl(clientId)}&${appended}`.replace('/oauth/authorize', '/login/handoff')
    const page = await passHandoff(server.newBrowser(), { sub: 'alice at the login page' }, start)
    expect(page.url).toMatch(`${ISSUER}/consent?`)
  })

  test.each(OWN_NAMES)('%s, with a password', async (appended) => {
    const browser = server.newBrowser()
    const form = await browser.open(`${authorizeUrl(clientId)}&${appended}`)
    expect(form.body).not.toContain('You are signed out')
    expect((await browser.submit(form, { username: 'alice', password: PASSWORD })).url).toMatch(`${ISSUER}/consent?`)
  })

  test.each(OWN_NAMES)('%s, with prompt=login and a user who is signed in', async (appended) => {
    const browser = server.newBrowser()
    await signInWith(provider, browser)
    const url = `${authorizeUrl(clientId)}&prompt=login&${appended}`
    expect((await browser.open(url)).body).not.toContain('sign in again before you change it')
    const page = await signInWith(provider, browser, { query: new URL(url).search.slice(1) })
    expect(page.statusCode).toBe(303)
    expect((await browser.open(page.headers.location ?? '')).url).toMatch(`${ISSUER}/consent?`)
  })
})
