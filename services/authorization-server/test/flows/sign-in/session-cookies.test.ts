import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { cookiePolicy } from '../../../src/browser/session/cookies.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD, responseParameters } from '../../support/flow.js'

const cookiesOf = (answer: LightMyRequestResponse): string[] => [answer.headers['set-cookie'] ?? []].flat()

/** With https the names begin with __Host-, which browsers accept only with Secure, Path=/ and without Domain. */
const ISSUERS = [
  { issuer: 'http://localhost:4000', prefix: '', secure: '' },
  { issuer: 'http://127.0.0.1:4000', prefix: '', secure: '' },
  { issuer: 'https://auth.example', prefix: '__Host-', secure: ' Secure;' },
  { issuer: 'https://example.com/auth', prefix: '__Host-', secure: ' Secure;' }
]

describe.each(ISSUERS)('cookies of $issuer', ({ issuer, prefix, secure }) => {
  let server: TestServer
  let client: Credentials
  const { names } = cookiePolicy(issuer)

  beforeAll(async () => {
    server = await startTestServer({ ISSUER: issuer })
    await server.createUser('alice', PASSWORD)
    client = await server.createClient()
  })
  afterAll(() => server.close())

  const authorize = () => {
    const redirectUri = encodeURIComponent('https://app.example/callback')
    return `${issuer}/oauth/authorize?response_type=code&client_id=${client.clientId}&redirect_uri=${redirectUri}&scope=files.read`
  }

  test('are HttpOnly, SameSite=Lax and for the whole host; only known accounts and the last way to sign in outlive the browser', async () => {
    const browser = server.newBrowser()
    const first = await browser.get(authorize())
    const attributes = `Path=/; HttpOnly;${secure} SameSite=Lax`
    const value = '[\\w-]{43}'
    expect(cookiesOf(first)).toEqual([expect.stringMatching(`^${names.browser}=${value}; ${attributes}$`)])
    const login = await browser.open(String(first.headers.location))
    expect(cookiesOf(login)).toEqual([])
    const answer = await browser.submitOnly(login, { username: 'alice', password: PASSWORD })
    expect(cookiesOf(answer)).toEqual([
      expect.stringMatching(`^${names.knownAccounts}=${value}; Max-Age=31536000; ${attributes}$`),
      expect.stringMatching(`^${names.session}=${value}; ${attributes}$`),
      `${names.lastWay}=local; Max-Age=31536000; ${attributes}`
    ])
    expect(answer.body).toBe('')
  })

  test('work from the request to the code, and every address is below the issuer', async () => {
    const browser = server.newBrowser()
    const login = await browser.open(authorize())
    expect(login.url.startsWith(`${issuer}/login?`)).toBe(true)
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(consent.url.startsWith(`${issuer}/consent?`)).toBe(true)
    const answer = await browser.submitOnly(consent, { decision: 'allow' })
    expect(responseParameters(answer)).toMatchObject({ code: expect.any(String), iss: issuer })
    expect(cookiesOf(answer)).toEqual([])
    const addresses = [login.body, consent.body].flatMap((body) => body.match(/(?:href|action)="[^"]*/g) ?? [])
    expect(addresses.length).toBeGreaterThan(6)
    for (const address of addresses) expect(address.replace(/^\w+="/, '').startsWith(`${issuer}/`)).toBe(true)
  })

  test.each([
    { name: 'empty', value: '' },
    { name: 'too short', value: 'B'.repeat(42) },
    { name: 'too long by one', value: 'B'.repeat(44) },
    { name: 'much too long', value: 'B'.repeat(4000) },
    { name: 'of another alphabet', value: `${'B'.repeat(42)}.` },
    { name: 'the name of an object', value: '__proto__' }
  ])('an invalid browser id ($name) is replaced', async ({ value }) => {
    const browser = server.newBrowser()
    browser.cookies.set(names.browser, value)
    await browser.open(`${issuer}/login`)
    const given = browser.cookies.get(names.browser)
    expect(given).toMatch(/^[\w-]{43}$/)
    await browser.open(`${issuer}/login`)
    expect(browser.cookies.get(names.browser)).toBe(given)
  })

  test('are read under their own name only', async () => {
    const browser = server.newBrowser()
    await browser.submit(await browser.open(`${issuer}/login`), { username: 'alice', password: PASSWORD })
    const sessionId = browser.cookies.get(names.session) ?? ''
    const plain = names.session.slice(prefix.length)
    const others = ISSUERS.map((other) => cookiePolicy(other.issuer).names.session)
    const prefixed = ['', '__Host-', '__Secure-', '__host-'].map((each) => `${each}${plain}`)
    const seen = []
    for (const name of new Set([...others, ...prefixed, plain.toUpperCase(), `${prefix}vk_session`])) {
      const other = server.newBrowser()
      other.cookies.set(name, sessionId)
      if ((await other.open(`${issuer}/login`)).body.includes('You are signed in')) seen.push(name)
    }
    expect(seen).toEqual([names.session])
  })
})

test.each(ISSUERS)('the names of the cookies of $issuer keep their prefix', ({ issuer, prefix }) => {
  for (const name of Object.values(cookiePolicy(issuer).names)) {
    expect(name).toMatch(new RegExp(`^${prefix}vk_[a-z]+_[0-9a-f]{8}$`))
  }
})

test('two issuers on one host share no cookie: signing in at one keeps the session at the other', async () => {
  const issuers = ['http://localhost:4000', 'http://localhost:4001', 'http://localhost:4000/other']
  const all = issuers.flatMap((issuer) => Object.values(cookiePolicy(issuer).names))
  expect(new Set(all).size).toBe(all.length)
  // Browsers send the cookies of a host to all its ports and paths.
  const servers = await Promise.all(issuers.map((issuer) => startTestServer({ ISSUER: issuer })))
  const cookies = new Map<string, string>()
  const browsers = servers.map((server) => server.newBrowser(cookies))
  for (const [index, server] of servers.entries()) {
    await server.createUser('alice', PASSWORD)
    const browser = browsers[index]
    const login = await browser?.open(`${issuers[index]}/login`)
    if (login !== undefined) await browser?.submit(login, { username: 'alice', password: PASSWORD })
  }
  for (const [index, browser] of browsers.entries()) {
    expect((await browser.open(`${issuers[index]}/login`)).body).toContain('You are signed in')
  }
  await Promise.all(servers.map((server) => server.close()))
})
