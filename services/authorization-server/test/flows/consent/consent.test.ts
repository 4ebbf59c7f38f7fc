import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'
import { createScopeStore } from '../../../src/storage/postgres/scopes.js'
import { AUDIENCE, ISSUER, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Page } from '../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField, otherAddressesOn, visibleText } from '../../support/page-content.js'
import { openConsent, postTo, signedInBrowser } from '../../support/pages.js'

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  const text = 'insert into scopes (name, title, description) values ($1, $2, $3)'
  const values = ['evil<b>&x', '<i>title</i>', '"><img src=x>']
  await server.database.query({ name: 'add_scope', text, values })
})
afterAll(() => server.close())

async function open(client: Partial<ClientRegistration>, change: Record<string, string | undefined> = {}) {
  const credentials = await server.createClient(client)
  return { ...(await openConsent(server, credentials.clientId, { change })), client: credentials }
}

const WORDS: Readonly<Record<string, string>> = {
  'files.read': 'See the list of all your files Names, sizes, types and dates of every file you keep here.',
  'files.read:images': 'See the list of your images Names, sizes, types and dates of your images.',
  'files.read:media':
    'See the list of your audio and video Names, sizes, types and dates of your audio and video files.'
}
const TECHNICAL =
  'Technical details scope files.read:media See the list of your audio and video ' +
  'files.read See the list of all your files files.read:images See the list of your images'

const UNKNOWN = 'Allow it only if you know this app and started it yourself.'
const UNVERIFIED = `Not checked by Valetkey. ${UNKNOWN}`
const PROGRAM =
  'Any program on this device can pretend to be this app, so allow it only if you have just started it yourself.'
const APP = 'Another app on this device can pretend to be this one, so allow it only if you have just used it yourself.'

/** The text of the page without header and footer. */
const wordsOf = (page: Page) => visibleText(page.body).replace(/^Valetkey /, '')

describe('the consent page shows the app, the permissions and the redirect target', () => {
  test('exact texts: required and optional scopes, redirect target, duration, buttons, another account', async () => {
    const { page, client } = await open(
      { requiredScopes: ['files.read'], optionalScopes: ['files.read:images', 'files.read:media'] },
      { scope: 'files.read:media files.read files.read:images' }
    )
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('<title>Allow Photo Printer? · Valetkey</title>')
    expect(wordsOf(page)).toBe(
      `PP A Signed in as alice Use another account Allow Photo Printer? ${UNVERIFIED} ` +
        `It wants to ${WORDS['files.read']} ` +
        `Also allow (optional) ${WORDS['files.read:media']} ${WORDS['files.read:images']} ` +
        'Applies to localhost:4100 Returns you to app.example How long Up to 90 days, even when you’re not using it ' +
        'Allow Deny You can end this at any time under Connected apps ' +
        `${TECHNICAL} resource ${AUDIENCE} client_id ${client.clientId} redirect_uri ${REDIRECT_URI}`
    )
  })

  test('shows title, description and name of every built-in scope', async () => {
    const builtIn = (await createScopeStore(server.database).list()).filter((scope) => scope.builtIn)
    const requiredScopes = builtIn.map(({ name }) => name)
    for (const { name, title, description, selects } of builtIn) {
      const choice = selects ? ' Nothing chosen yet Choose' : ''
      const { page } = await open({ requiredScopes }, { scope: name })
      expect(wordsOf(page)).toContain(
        `It wants to ${title} ${description}${choice} Applies to localhost:4100 Returns you to app.example`
      )
    }
  })

  test('shows that an operator verified the app', async () => {
    const { page } = await open({ verified: true })
    expect(wordsOf(page)).toContain('Allow Photo Printer? Checked by Valetkey It wants to')
  })

  const BRANDING = {
    publisher: 'Printer & Sons Ltd.',
    privacyPolicy: 'https://printer.example/privacy',
    terms: 'https://printer.example/terms'
  }

  test('names the publisher that an operator verified, and links to privacy policy and terms', async () => {
    const { page } = await open({ verified: true, branding: BRANDING })
    expect(wordsOf(page)).toContain('Allow Photo Printer? Printer &amp; Sons Ltd. , checked by Valetkey It wants to')
    expect(wordsOf(page)).toContain('Privacy policy of Photo Printer Terms of Photo Printer')
    for (const address of [BRANDING.privacyPolicy, BRANDING.terms]) {
      expect(page.body).toContain(`<a href="${address}" target="_blank" rel="noopener noreferrer nofollow">`)
    }
  })

  test('does not name a publisher that no operator verified', async () => {
    const { page } = await open({ branding: BRANDING })
    expect(wordsOf(page)).toContain(`Allow Photo Printer? ${UNVERIFIED}`)
    expect(page.body).not.toContain('Sons')
  })

  test('has no part for optional scopes if there are none, and a short duration for an app without refresh', async () => {
    const { page } = await open({ issuesRefreshTokens: false })
    expect(page.body).not.toMatch(/type="checkbox"|Tick what/)
    expect(wordsOf(page)).toContain('How long 1 hour, then it asks again')
  })

  test.each([
    {
      registered: 'https://app.example/callback',
      sent: 'https://app.example/callback',
      shown: 'app.example',
      warning: ''
    },
    {
      registered: 'https://app.example:8443/cb',
      sent: 'https://app.example:8443/cb',
      shown: 'app.example:8443',
      warning: ''
    },
    {
      registered: 'http://127.0.0.1/cb',
      sent: 'http://127.0.0.1:51004/cb',
      shown: '127.0.0.1:51004',
      warning: PROGRAM
    },
    {
      registered: 'http://localhost/cb',
      sent: 'http://localhost:51004/cb',
      shown: 'localhost:51004',
      warning: PROGRAM
    },
    { registered: 'http://[::1]/cb', sent: 'http://[::1]:51004/cb', shown: '[::1]:51004', warning: PROGRAM },
    { registered: 'com.example.app:/cb', sent: 'com.example.app:/cb', shown: 'com.example.app:', warning: APP }
  ])('of $sent the page shows $shown, and one warning', async ({ registered, sent, shown, warning }) => {
    const { page } = await open({ redirectUris: [registered] }, { redirect_uri: sent })
    const words = wordsOf(page)
    expect(words).toContain(`Returns you to ${shown} How long`)
    expect(words).toContain(warning)
    expect(words.includes(UNKNOWN)).toBe(warning === '')
  })

  test.each([
    { name: '<script>alert(1)</script>', shown: '&lt;script&gt;alert(1)&lt;/script&gt;' },
    { name: '"><img src=x onerror=alert(1)>', shown: '&quot;&gt;&lt;img src&#x3D;x onerror&#x3D;alert(1)&gt;' },
    { name: "'&amp;`{{username}}", shown: '&#x27;&amp;amp;&#x60;{{username}}' },
    { name: '</title><meta http-equiv=refresh>', shown: '&lt;/title&gt;&lt;meta http-equiv&#x3D;refresh&gt;' },
    { name: 'Photo \u202eretnirP', shown: 'Photo \u202eretnirP' },
    { name: 'Фото 写真 🖨', shown: 'Фото 写真 🖨' }
  ])('the name $name is shown as text on every page', async ({ name, shown }) => {
    const client = await server.createClient({ name })
    const login = await server.newBrowser().open(authorizeUrl(client.clientId))
    const { page } = await openConsent(server, client.clientId)
    expect(login.body).toContain(`<p class="lead">to continue to <strong><bdi>${shown}</bdi></strong></p>`)
    expect(page.body).toContain(`<title>Allow ${shown}? · Valetkey</title>`)
    expect(page.body).toContain(`<h1>Allow <bdi>${shown}</bdi>?</h1>`)
    for (const body of [login.body, page.body]) {
      const withoutOurs = body.replaceAll(
        /<script src="http:\/\/localhost:4000\/assets\/[a-z-]+\.js" defer><\/script>/g,
        ''
      )
      expect(withoutOurs.match(/<(script|img|meta http-equiv|b|i)\b/g)).toBeNull()
      expect(body.match(/<title>/g)).toHaveLength(1)
    }
  })

  test('a scope created by an operator is escaped in name, title, description and checkbox', async () => {
    const scope = 'evil<b>&x'
    const { browser, page, client } = await open(
      { requiredScopes: ['files.read'], optionalScopes: [scope] },
      { scope: `files.read ${scope}` }
    )
    expect(page.body).not.toMatch(/<(b|i|img)\b/)
    expect(page.body).toContain('name="scope.evil&lt;b&gt;&amp;x"')
    const { code } = responseParameters(await browser.submitOnly(page, { decision: 'allow', [`scope.${scope}`]: 'on' }))
    expect((await exchange(server, client, code ?? '')).json().scope).toBe(`files.read ${scope}`)
  })
})

describe('the two buttons', () => {
  const plain = async () => open({}, { state: 'a state' })

  test('Deny redirects with 303, access_denied, state and iss (RFC 6749 4.1.2.1, RFC 9207 2)', async () => {
    const { browser, page } = await plain()
    const answer = await browser.submitOnly(page, { decision: 'deny' })
    expect(answer.statusCode).toBe(303)
    expect(String(answer.headers.location).startsWith(`${REDIRECT_URI}?`)).toBe(true)
    expect(responseParameters(answer)).toEqual({
      error: 'access_denied',
      error_description: 'The user did not allow access.',
      error_uri: `${ISSUER}/errors/access_denied`,
      state: 'a state',
      iss: ISSUER
    })
  })

  test.each([
    { name: 'no button', decisions: [] },
    { name: 'an empty value', decisions: [''] },
    { name: 'both', decisions: ['allow', 'deny'] },
    { name: 'both, in the other order', decisions: ['deny', 'allow'] },
    { name: 'Allow twice', decisions: ['allow', 'allow'] },
    { name: 'an unknown value', decisions: ['maybe'] },
    { name: 'Allow in another case', decisions: ['ALLOW'] },
    { name: 'Allow with a space', decisions: ['allow '] },
    { name: 'Allow with a NUL', decisions: ['allow\u0000'] }
  ])('$name is not a decision: the page is shown again with a valid form', async ({ decisions }) => {
    const { browser, page } = await plain()
    const body = new URLSearchParams({ csrf_token: hiddenField(page.body, 'csrf_token') })
    for (const decision of decisions) body.append('decision', decision)
    const answer = await postTo(server, browser, page.url, body.toString(), OWN)
    expect([answer.statusCode, new URL(String(answer.headers.location)).pathname]).toEqual([303, '/oauth/authorize'])
    expect(wordsOf(await browser.open(String(answer.headers.location)))).toContain('Allow Photo Printer?')
    expect(responseParameters(await browser.submitOnly(page, { decision: 'allow' }))).toHaveProperty('code')
  })

  test('a decision in the address instead of the form is ignored', async () => {
    const { browser, page } = await plain()
    const body = new URLSearchParams({ csrf_token: hiddenField(page.body, 'csrf_token') }).toString()
    const answer = await postTo(server, browser, `${page.url}&decision=allow`, body, OWN)
    expect(String(answer.headers.location)).not.toContain('code=vk_ac_')
    expect((await browser.get(`${page.url}&decision=allow`)).headers.location).toContain('/oauth/authorize?')
  })
})

describe('optional scopes', () => {
  const OPTIONAL = { requiredScopes: ['files.read'], optionalScopes: ['files.read:images', 'files.read:media'] }

  test('no optional scope is preselected, and names of scopes are in closed details', async () => {
    const { page } = await open(OPTIONAL, { scope: 'files.read files.read:images files.read:media' })
    expect(page.body.match(/type="checkbox"/g)).toHaveLength(2)
    expect(page.body).not.toMatch(/<input[^>]* checked/)
    expect(visibleText(page.body)).toContain('files.read:media')
    expect(visibleText(page.body.replace(/<details[\s\S]*<\/details>/, ''))).not.toContain('files.read')
  })

  test('a request for one optional scope has no box: the user allows or denies it', async () => {
    const { page, browser, client } = await open(
      { requiredScopes: [], optionalScopes: ['files.read:images'] },
      { scope: 'files.read:images' }
    )
    expect(page.body).not.toContain('type="checkbox"')
    const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
    expect((await exchange(server, client, code)).json().scope).toBe('files.read:images')
  })

  const ON = { 'scope.files.read:images': 'on', 'scope.files.read:media': 'on' }

  describe('the granted scope is the requested scope without the optional scopes that are not ticked', () => {
    test.each<{ name: string; fields: Record<string, string>; scope?: string; granted: string }>([
      { name: 'all ticked', fields: ON, granted: 'files.read files.read:images files.read:media' },
      { name: 'one unticked', fields: { 'scope.files.read:media': 'on' }, granted: 'files.read files.read:media' },
      { name: 'all unticked', fields: {}, granted: 'files.read' },
      { name: 'required ones cannot be left out', fields: { 'scope.files.read': '' }, granted: 'files.read' },
      { name: 'a scope that was not requested', fields: ON, scope: 'files.read', granted: 'files.read' },
      {
        name: 'a scope that is not registered for the client',
        fields: { ...ON, 'scope.files.read:documents': 'on' },
        granted: 'files.read files.read:images files.read:media'
      },
      { name: 'a scope parameter in the form', fields: { scope: 'files.read:documents' }, granted: 'files.read' },
      {
        name: 'a value other than on',
        fields: { 'scope.files.read:images': 'yes', 'scope.files.read:media': 'ON' },
        granted: 'files.read'
      },
      {
        name: 'only optional scopes requested, one ticked',
        fields: { 'scope.files.read:images': 'on' },
        scope: 'files.read:images files.read:media',
        granted: 'files.read:images'
      }
    ])('$name', async ({ fields, scope = 'files.read files.read:images files.read:media', granted }) => {
      const { browser, page, client } = await open(OPTIONAL, { scope })
      const shown = { csrf_token: hiddenField(page.body, 'csrf_token'), question: hiddenField(page.body, 'question') }
      const body = new URLSearchParams({ ...shown, decision: 'allow', ...fields })
      const answer = await postTo(server, browser, page.url, body.toString(), OWN)
      expect(answer.statusCode).toBe(303)
      const { code = '' } = responseParameters(answer)
      expect((await exchange(server, client, code)).json().scope).toBe(granted)
    })
  })

  describe('Allow without any scope', () => {
    const ALL_OPTIONAL = { scope: 'files.read:images files.read:media', state: 'kept' }
    const pressAllow = async () => {
      const opened = await open(OPTIONAL, ALL_OPTIONAL)
      return { ...opened, again: await opened.browser.submitOnly(opened.page, { decision: 'allow' }) }
    }

    test('shows the page again with a message, and nothing is sent to the client', async () => {
      const { again } = await pressAllow()
      expect(again.statusCode).toBe(422)
      expect(again.headers.location).toBeUndefined()
      expect(again.body).toMatch(/role="alert" id="problem"><p><strong>Nothing is ticked\./)
      expect(again.body.match(/ autofocus/g)).toHaveLength(1)
      expect(visibleText(again.body)).toContain('Signed in as alice Use another account Allow Photo Printer?')
    })

    test('the shown form can be sent with a scope, and twice', async () => {
      const { browser, again, client } = await pressAllow()
      const ticked = { decision: 'allow', 'scope.files.read:media': 'on' }
      const answers = await Promise.all([browser.submitOnly(again, ticked), browser.submitOnly(again, ticked)])
      const [first, second] = answers.map(responseParameters)
      expect([first?.state, second]).toEqual(['kept', first])
      expect((await exchange(server, client, first?.code ?? '')).json().scope).toBe('files.read:media')
    })

    test('Deny still denies, also from the first form', async () => {
      const { browser, page } = await pressAllow()
      expect(responseParameters(await browser.submitOnly(page, { decision: 'deny' })).error).toBe('access_denied')
    })

    test('is Allow if another scope was allowed before', async () => {
      const { client } = await open({ ...OPTIONAL, consent: 'remember' }, { scope: 'files.read' })
      const { browser, page } = await openConsent(server, client.clientId, { change: { scope: 'files.read' } })
      await browser.submitOnly(page, { decision: 'allow' })
      const more = await browser.open(authorizeUrl(client.clientId, { scope: 'files.read files.read:images' }))
      const { code = '' } = responseParameters(await browser.submitOnly(more, { decision: 'allow' }))
      expect((await exchange(server, client, code)).json().scope).toBe('files.read')
    })
  })
})

describe.each([
  { who: 'a browser with a session', start: () => signedInBrowser(server) },
  { who: 'a browser without a session', start: async () => server.newBrowser() }
])('the consent page without a request in its address, for $who', ({ start }) => {
  test.each(['/consent', '/consent?state=mine&resume=x'])('%s explains what to do', async (address) => {
    const browser = await start()
    const shown = await browser.get(`${ISSUER}${address}`)
    const sent = await postTo(server, browser, address, 'decision=allow', { origin: ISSUER })
    for (const { statusCode, body } of [shown, sent]) {
      expect(statusCode).toBe(400)
      expect(visibleText(body)).toContain('Go back to the app you came from and start again there.')
      // The app is unknown, so there is nothing to link to.
      expect(otherAddressesOn(body)).toEqual([])
    }
  })
})
