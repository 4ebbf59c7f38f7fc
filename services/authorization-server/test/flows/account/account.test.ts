import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, exchange, introspect, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { openEndOfAccess, signOut } from '../../support/pages.js'

const APPS = `${ISSUER}/account/apps`

let server: TestServer
let resourceServer: Credentials
beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

let users = 0
async function newUser(): Promise<string> {
  users += 1
  await server.createUser(`user-${users}`, PASSWORD)
  return `user-${users}`
}

async function signedIn(username: string): Promise<{ browser: Browser; page: Page }> {
  const browser = server.newBrowser()
  const page = await browser.submit(await browser.open(APPS), { username, password: PASSWORD })
  return { browser, page }
}

async function connect(username: string, client: Credentials, scope = 'files.read') {
  const code = await obtainCode(server, client, { username, change: { scope } })
  return (await exchange(server, client, code)).json() as { access_token: string; refresh_token: string }
}

const endedUrl = ({ clientId }: Credentials) => `${APPS}?done=ended&client_id=${clientId}`

/** The first two sentences of the notice, as HTML. */
const noticeOf = ({ body }: Page) => /role="status"><p>([^.]+\.[^.]+\.)/.exec(body)?.[1]

const isActive = async (token: string) => (await introspect(server, resourceServer, token)).json().active
describe('connected apps', () => {
  test('the root of the issuer redirects to them', async () => {
    const { statusCode, headers } = await server.newBrowser().get(`${ISSUER}/`)
    expect([statusCode, headers.location]).toEqual([303, APPS])
  })

  test('require a sign-in, which returns to them', async () => {
    const { page } = await signedIn(await newUser())
    expect(page.url).toBe(APPS)
    expect(page.body).toContain('No app has access to your account.')
  })

  test('show name, permissions, day, last use, and whether the app has offline access', async () => {
    const username = await newUser()
    const away = await server.createClient({ name: 'Stays', verified: true })
    const once = await server.createClient({ name: 'Once <b>', issuesRefreshTokens: false })
    await connect(username, away, 'files.read files.read:images')
    await connect(username, once)
    const { page } = await signedIn(username)
    const [, first = '', second = ''] = page.body
      .split('<li class="app app-compact">')
      .map((part) => part.replace(/\s+/g, ' '))
    expect(first).toContain('Once &lt;b&gt;')
    expect(first).toContain('Not checked by <bdi>Valetkey</bdi>')
    expect(first).toContain('Cannot use your account')
    expect(second).toContain('Checked by <bdi>Valetkey</bdi>')
    expect(second).toContain('See the list of all your files')
    expect(second).toContain('files.read:images')
    expect(second).toMatch(/Can use your account until \w+ \d+, 20\d\d/)
    expect(second).toMatch(/Last used on<\/dt><dd>\w+ \d+, 20\d\d/)
  })

  test('several grants to one app are one entry with all of its permissions', async () => {
    const username = await newUser()
    const client = await server.createClient()
    await connect(username, client, 'files.read')
    await connect(username, client, 'files.read:images')
    const { page } = await signedIn(username)
    expect(page.body.match(/<li class="app app-compact">/g)).toHaveLength(1)
    expect(page.body).toContain('>files.read:images<')
    expect(page.body).toContain('>files.read<')
  })

  test('an unredeemed code and an ended grant are not listed', async () => {
    const username = await newUser()
    const client = await server.createClient()
    await obtainCode(server, client, { username })
    const code = await obtainCode(server, client, { username })
    await exchange(server, client, code)
    await exchange(server, client, code)
    expect((await signedIn(username)).page.body).toContain('No app has access')
  })

  test('a grant that an operator ended is not listed', async () => {
    const username = await newUser()
    const client = await server.createClient()
    await connect(username, client)
    await runCommand(server.database, ['grants', 'revoke', '--client', client.clientId, '--yes'])
    expect((await signedIn(username)).page.body).toContain('No app has access')
  })

  test('ending access ends all tokens of that app, and no other tokens', async () => {
    const [username, other] = [await newUser(), await newUser()]
    const [client, bystander] = [await server.createClient(), await server.createClient({ name: 'Zebra' })]
    const ended = [await connect(username, client), await connect(username, client)]
    const kept = [await connect(username, bystander), await connect(other, client)]
    const open = await obtainCode(server, client, { username })
    const { browser } = await signedIn(username)
    const after = await browser.submit(await openEndOfAccess(browser, client.clientId), {})
    expect(after.body.match(/<h2><bdi>.*<\/bdi><\/h2>/g)).toEqual(['<h2><bdi>Zebra</bdi></h2>'])
    for (const { access_token } of ended) expect(await isActive(access_token)).toBe(false)
    for (const { refresh_token } of ended) {
      expect((await refresh(server, client, refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
    }
    for (const { access_token } of kept) expect(await isActive(access_token)).toBe(true)
    // A code issued before is exchanged for tokens that are already invalid.
    const late = (await exchange(server, client, open)).json()
    expect(await isActive(late.access_token)).toBe(false)
  })

  test('the page after the end of access names the app, and its address only the client id', async () => {
    const username = await newUser()
    const client = await server.createClient({ name: 'Once <b>' })
    await connect(username, client)
    const { browser } = await signedIn(username)
    const after = await browser.submit(await openEndOfAccess(browser, client.clientId), {})
    expect(after.url).toBe(endedUrl(client))
    expect(noticeOf(after)).toBe('<strong>Done.</strong> <bdi>Once &lt;b&gt;</bdi> no longer has access.')
  })

  test('the page after the end of access names an app whose consent was remembered, and that has no tokens', async () => {
    const username = await newUser()
    const client = await server.createClient({ name: 'Recalled', consent: 'remember' })
    await obtainCode(server, client, { username })
    const { browser } = await signedIn(username)
    expect(noticeOf(await browser.submit(await openEndOfAccess(browser, client.clientId), {}))).toContain('Recalled')
  })

  test('a link to the page after the end of access names no app that the user never allowed, also after its form', async () => {
    const username = await newUser()
    const [allowed, secret] = [await server.createClient(), await server.createClient({ name: 'Secret Diary' })]
    await connect(await newUser(), secret)
    await connect(username, allowed)
    await obtainCode(server, secret, { username })
    const { browser } = await signedIn(username)
    const asked = await openEndOfAccess(browser, allowed.clientId)
    const after = await browser.submit(asked, { client_id: secret.clientId })
    expect(after.url).toBe(endedUrl(secret))
    expect(noticeOf(after)).toBe('<strong>Done.</strong> The app no longer has access.')
    expect(after.body).not.toContain('Secret Diary')
  })

  test.each([
    { name: 'that has access', query: (client: Credentials) => `?done=ended&client_id=${client.clientId}` },
    { name: 'after another change', query: (client: Credentials) => `?done=other&client_id=${client.clientId}` },
    { name: 'without a change', query: (client: Credentials) => `?client_id=${client.clientId}` }
  ])('a link to the list with an app $name shows no notice', async ({ query }) => {
    const username = await newUser()
    const client = await server.createClient()
    await connect(username, client)
    const { browser } = await signedIn(username)
    expect((await browser.open(`${APPS}${query(client)}`)).body).not.toContain('role="status"')
  })

  test('ending access deletes the consent: the next request shows the page', async () => {
    const username = await newUser()
    const client = await server.createClient({ consent: 'remember' })
    await connect(username, client)
    const { browser } = await signedIn(username)
    await browser.submit(await openEndOfAccess(browser, client.clientId), {})
    expect((await browser.open(authorizeUrl(client.clientId))).body).toContain('value="allow"')
  })

  test('an app without tokens is listed while its consent is remembered', async () => {
    const username = await newUser()
    const client = await server.createClient({ consent: 'remember' })
    const { refresh_token } = await connect(username, client)
    const form = { token: refresh_token, client_id: client.clientId, client_secret: client.clientSecret }
    await server.publicServer.inject({
      method: 'POST',
      url: '/oauth/revoke',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(form).toString()
    })
    const { page } = await signedIn(username)
    expect(page.body).toContain('Has no access now, but can get it again without asking you')
    await runCommand(server.database, ['clients', 'update', client.clientId, '--consent', 'ask'])
    expect((await signedIn(username)).page.body).toContain('No app has access')
  })

  test('a disabled app is not listed, also while its consent is remembered', async () => {
    const username = await newUser()
    const client = await server.createClient({ consent: 'remember' })
    await connect(username, client)
    await runCommand(server.database, ['clients', 'disable', client.clientId, '--yes'])
    expect((await signedIn(username)).page.body).toContain('No app has access')
  })

  test.each([
    { name: 'without a CSRF field', fields: { csrf_token: '' }, headers: {}, status: 303 },
    { name: 'from another origin', fields: {}, headers: { origin: 'https://evil.example' }, status: 403 },
    { name: 'from another site', fields: {}, headers: { 'sec-fetch-site': 'cross-site' }, status: 403 }
  ])('a form to end access $name ends nothing', async ({ fields, headers, status }) => {
    const username = await newUser()
    const client = await server.createClient()
    const { access_token } = await connect(username, client)
    const { browser } = await signedIn(username)
    const page = await openEndOfAccess(browser, client.clientId)
    expect((await browser.submitOnly(page, fields, headers)).statusCode).toBe(status)
    expect(await isActive(access_token)).toBe(true)
  })

  test('ending access of an unknown app is no error', async () => {
    const username = await newUser()
    const client = await server.createClient()
    await connect(username, client)
    const { browser } = await signedIn(username)
    const answer = await browser.submit(await openEndOfAccess(browser, client.clientId), { client_id: 'unknown' })
    expect(answer.body).toContain('<li class="app app-compact">')
  })

  test('the page before the end of access names the app, and opening it ends nothing', async () => {
    const username = await newUser()
    const client = await server.createClient({ name: 'Once <b>' })
    const { access_token } = await connect(username, client)
    const { browser, page } = await signedIn(username)
    expect(page.body).toContain('aria-label="End access of Once &lt;b&gt;"')
    const asked = await openEndOfAccess(browser, client.clientId)
    expect(asked.statusCode).toBe(200)
    expect((await browser.open(asked.url)).body).toContain('<h1>End access of <bdi>Once &lt;b&gt;</bdi>?</h1>')
    expect(await isActive(access_token)).toBe(true)
  })

  test.each([
    { name: 'that has no access', query: '?client_id=unknown', leadsTo: `${APPS}?done=ended` },
    { name: 'that is not named', query: '', leadsTo: APPS },
    { name: 'that is named twice', query: '?client_id=a&client_id=b', leadsTo: APPS }
  ])('the page before the end of access of an app $name leads to the list', async ({ query, leadsTo }) => {
    const { browser } = await signedIn(await newUser())
    expect((await browser.open(`${APPS}/end${query}`)).url).toBe(leadsTo)
  })

  test('the page before the end of access requires a sign-in, and another user sees nothing of the app', async () => {
    const client = await server.createClient({ name: 'Secret Diary' })
    await connect(await newUser(), client)
    const address = `${APPS}/end?client_id=${client.clientId}`
    expect((await server.newBrowser().open(address)).url).toBe(`${ISSUER}/login`)
    const { browser } = await signedIn(await newUser())
    const page = await browser.open(address)
    expect(page.url).toBe(`${APPS}?done=ended`)
    expect(page.body).not.toContain('Secret Diary')
  })
})

describe('signing out', () => {
  test('ends this session in the store, shows a notice, and ends no token', async () => {
    const username = await newUser()
    const { access_token } = await connect(username, await server.createClient())
    const { browser } = await signedIn(username)
    const stolen = new Map(browser.cookies)
    const after = await signOut(browser)
    expect(after.body).toContain('You are signed out</strong> in this browser')
    for (const [name, value] of stolen) browser.cookies.set(name, value)
    expect((await browser.open(APPS)).url).toBe(`${ISSUER}/login`)
    expect(await isActive(access_token)).toBe(true)
  })

  test('ends no session of other browsers', async () => {
    const username = await newUser()
    const [one, other] = [await signedIn(username), await signedIn(username)]
    await signOut(one.browser)
    expect((await other.browser.open(APPS)).url).toBe(APPS)
  })

  test('everywhere ends all sessions of this user, and no token', async () => {
    const [username, bystander] = [await newUser(), await newUser()]
    const { access_token } = await connect(username, await server.createClient())
    const [one, other, foreign] = [await signedIn(username), await signedIn(username), await signedIn(bystander)]
    expect(one.page.body).toContain('<button class="button" type="submit" name="everywhere" value="on">')
    const after = await signOut(one.browser, { everywhere: 'on' })
    expect(after.body).toContain('You are signed out everywhere.')
    expect((await other.browser.open(APPS)).url).toBe(`${ISSUER}/login`)
    expect((await foreign.browser.open(APPS)).url).toBe(APPS)
    expect(await isActive(access_token)).toBe(true)
    expect((await signedIn(username)).page.url).toBe(APPS)
  })
})
