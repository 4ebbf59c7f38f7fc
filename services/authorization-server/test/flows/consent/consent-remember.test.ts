import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Client } from '@valetkey/oauth-protocol'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { PKCE, VERIFIER } from '../../support/codes.js'
import { dumpRedis } from '../../support/dump-stores.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser, signOut } from '../../support/pages.js'
import { disable } from '../../support/tokens.js'

const REMEMBERS: Partial<Client> = {
  consent: 'remember',
  requiredScopes: ['files.read', 'files.read:images'],
  optionalScopes: ['files.read:media']
}

let server: TestServer
let aliceId: string

beforeAll(async () => {
  server = await startTestServer()
  aliceId = await server.createUser('alice', PASSWORD)
  await server.createUser('bob', PASSWORD)
})
afterAll(() => server.close())

type Fields = Record<string, string>

/** Opens a request and, if the consent page is shown, sends its form. */
const pendingIn = (dump: string) => dump.split('\n').filter((line) => line.startsWith('vk:requests:'))

async function ask(browser: Browser, clientId: string, scope: string, fields: Fields = { decision: 'allow' }) {
  const page = await browser.open(authorizeUrl(clientId, { scope, ...PKCE }))
  const wasAsked = new URL(page.url).pathname === '/consent'
  const answer = wasAsked ? await browser.submitOnly(page, fields) : page
  const parameters = answer.headers.location === undefined ? {} : responseParameters(answer)
  return { wasAsked, answer, ...parameters } as { wasAsked: boolean; code?: string; error?: string }
}

describe('a client that is registered to remember consent', () => {
  test('gets a code without a page the second time', async () => {
    const client = await server.createClient(REMEMBERS)
    const browser = await signedInBrowser(server)
    expect(await ask(browser, client.clientId, 'files.read')).toMatchObject({ wasAsked: true })
    const direct = await browser.get(authorizeUrl(client.clientId, { state: 'again' }))
    expect(direct.statusCode).toBe(303)
    const answer = responseParameters(direct)
    expect(answer).toEqual({ code: expect.stringMatching(/^vk_ac_/), state: 'again', iss: ISSUER })
    expect((await exchange(server, client, answer.code ?? '')).json().scope).toBe('files.read')
  })

  test.each<{ name: string; first: string; second: string; fields?: Fields; asks: boolean }>([
    {
      name: 'the same scopes in another order',
      first: 'files.read files.read:images',
      second: 'files.read:images files.read',
      asks: false
    },
    { name: 'fewer scopes', first: 'files.read files.read:images', second: 'files.read:images', asks: false },
    { name: 'one scope more', first: 'files.read', second: 'files.read files.read:images', asks: true },
    { name: 'another scope', first: 'files.read', second: 'files.read:images', asks: true },
    {
      name: 'an optional scope that was unticked',
      first: 'files.read files.read:media',
      second: 'files.read:media',
      fields: { decision: 'allow', 'scope.files.read:media': '' },
      asks: true
    },
    {
      name: 'the other scopes of that consent',
      first: 'files.read files.read:media',
      second: 'files.read',
      fields: { decision: 'allow', 'scope.files.read:media': '' },
      asks: false
    },
    { name: 'the same after Deny', first: 'files.read', second: 'files.read', fields: { decision: 'deny' }, asks: true }
  ])('$name: the user is asked again: $asks', async ({ first, second, fields, asks }) => {
    const { clientId } = await server.createClient(REMEMBERS)
    const browser = await signedInBrowser(server)
    expect((await ask(browser, clientId, first, fields)).wasAsked).toBe(true)
    expect((await ask(browser, clientId, second)).wasAsked).toBe(asks)
  })

  describe('an optional scope that was declined', () => {
    const both = 'files.read files.read:media'
    const declined = { decision: 'allow', 'scope.files.read:media': '' }
    const scopeOf = async (client: Credentials, code = '') =>
      (await exchange(server, client, code, { code_verifier: VERIFIER })).json().scope

    test('is not asked for again, also with prompt=none, and the code does not have it', async () => {
      const client = await server.createClient(REMEMBERS)
      const browser = await signedInBrowser(server)
      await ask(browser, client.clientId, both, declined)
      const again = await ask(browser, client.clientId, both)
      expect([again.wasAsked, await scopeOf(client, again.code)]).toEqual([false, 'files.read'])
      const silent = await browser.get(authorizeUrl(client.clientId, { scope: both, prompt: 'none', ...PKCE }))
      expect(await scopeOf(client, responseParameters(silent).code)).toBe('files.read')
    })

    test('is asked for again with a new scope, and stays declined if it is left out again', async () => {
      const client = await server.createClient(REMEMBERS)
      const browser = await signedInBrowser(server)
      await ask(browser, client.clientId, both, declined)
      expect((await ask(browser, client.clientId, `${both} files.read:images`, declined)).wasAsked).toBe(true)
      const again = await ask(browser, client.clientId, `${both} files.read:images`)
      expect([again.wasAsked, await scopeOf(client, again.code)]).toEqual([false, 'files.read files.read:images'])
    })

    test('is asked for again with prompt=consent, and is remembered once it is allowed', async () => {
      const client = await server.createClient(REMEMBERS)
      const browser = await signedInBrowser(server)
      await ask(browser, client.clientId, both, declined)
      const page = await browser.open(authorizeUrl(client.clientId, { scope: both, prompt: 'consent' }))
      expect(page.body).toContain('name="scope.files.read:media"')
      await browser.submitOnly(page, { decision: 'allow', 'scope.files.read:media': 'on' })
      const again = await ask(browser, client.clientId, both)
      expect([again.wasAsked, await scopeOf(client, again.code)]).toEqual([false, both])
    })

    test.each([
      {
        name: 'it is now required',
        sql: `update clients set required_scopes = required_scopes || optional_scopes,
          optional_scopes = '{}' where client_id = $1`
      },
      {
        name: 'access has ended',
        sql: `update clients set authorization_generation = authorization_generation + 1
          where client_id = $1`
      }
    ])('is asked for again when $name', async ({ sql }) => {
      const { clientId } = await server.createClient(REMEMBERS)
      const browser = await signedInBrowser(server)
      await ask(browser, clientId, both, declined)
      await server.database.query({ name: '', text: sql, values: [clientId] })
      expect((await ask(browser, clientId, both)).wasAsked).toBe(true)
    })

    test('is asked for again when it was created again', async () => {
      await server.createScope('again.read')
      const { clientId } = await server.createClient({ ...REMEMBERS, optionalScopes: ['again.read'] })
      const browser = await signedInBrowser(server)
      const scope = 'files.read again.read'
      await ask(browser, clientId, scope)
      expect((await ask(browser, clientId, scope)).wasAsked).toBe(false)
      await server.database.query({ name: '', text: `delete from scopes where name = 'again.read'`, values: [] })
      await server.createScope('again.read')
      expect((await ask(browser, clientId, scope)).wasAsked).toBe(true)
    })
  })

  test('consents add up, and a smaller request removes nothing', async () => {
    const { clientId } = await server.createClient(REMEMBERS)
    const browser = await signedInBrowser(server)
    await ask(browser, clientId, 'files.read')
    await ask(browser, clientId, 'files.read:images')
    expect((await ask(browser, clientId, 'files.read files.read:images')).wasAsked).toBe(false)
  })

  test('is remembered for that user, not for that browser, and for that client only', async () => {
    const { clientId } = await server.createClient(REMEMBERS)
    const other = await server.createClient(REMEMBERS)
    await ask(await signedInBrowser(server), clientId, 'files.read')
    const alice = await signedInBrowser(server)
    const bob = await signedInBrowser(server, 'bob')
    expect((await ask(alice, clientId, 'files.read')).wasAsked).toBe(false)
    expect((await ask(alice, other.clientId, 'files.read')).wasAsked).toBe(true)
    expect((await ask(bob, clientId, 'files.read', { decision: 'deny' })).wasAsked).toBe(true)
  })

  test('without a session: the sign-in page, then the code', async () => {
    const { clientId } = await server.createClient(REMEMBERS)
    await ask(await signedInBrowser(server), clientId, 'files.read')
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(clientId))
    expect(new URL(login.url).pathname).toBe('/login')
    expect(responseParameters(await browser.submit(login, { username: 'alice', password: PASSWORD }))).toHaveProperty(
      'code'
    )
  })

  test('a remembered consent stores no pending request', async () => {
    const { clientId } = await server.createClient(REMEMBERS)
    const browser = await signedInBrowser(server)
    await ask(browser, clientId, 'files.read')
    const before = pendingIn(await dumpRedis(server))
    expect((await ask(browser, clientId, 'files.read')).wasAsked).toBe(false)
    expect(pendingIn(await dumpRedis(server))).toEqual(before)
  })

  test('a disabled client gets the error page', async () => {
    const { clientId } = await server.createClient(REMEMBERS)
    const browser = await signedInBrowser(server)
    await ask(browser, clientId, 'files.read')
    await disable(server, 'client', clientId)
    expect((await browser.open(authorizeUrl(clientId))).statusCode).toBe(400)
  })
})

describe('all other clients: the user is asked each time', () => {
  test('a client registered with --consent ask', async () => {
    const { clientId } = await server.createClient({ ...REMEMBERS, consent: 'ask' })
    const browser = await signedInBrowser(server)
    for (let time = 0; time < 3; time++) expect((await ask(browser, clientId, 'files.read')).wasAsked).toBe(true)
    const text = 'select 1 from consents where client_id = $1'
    expect(await server.database.query({ name: 'consents_of', text, values: [clientId] })).toEqual([])
  })

  test('a public client, although its row says remember and a consent is stored (RFC 8252 8.6)', async () => {
    const { clientId } = await server.createClient({ ...REMEMBERS, type: 'public', requiresPkce: true })
    const text = `insert into consents (user_id, client_id, audience, scope, newest_scope, granted_at)
      values ($1, $2, $3, $4, 1000, now())`
    await server.database.query({ name: 'store_consent', text, values: [aliceId, clientId, AUDIENCE, ['files.read']] })
    const browser = await signedInBrowser(server)
    for (let time = 0; time < 2; time++) expect((await ask(browser, clientId, 'files.read')).wasAsked).toBe(true)
  })

  test('a client that was changed to ask', async () => {
    const { clientId } = await server.createClient(REMEMBERS)
    const browser = await signedInBrowser(server)
    await ask(browser, clientId, 'files.read')
    const text = "update clients set consent = 'ask' where client_id = $1"
    await server.database.query({ name: 'ask_again', text, values: [clientId] })
    expect((await ask(browser, clientId, 'files.read')).wasAsked).toBe(true)
  })
})

describe('scopes that are new since the last consent', () => {
  const SCOPES = {
    requiredScopes: ['files.read:images'],
    optionalScopes: ['files.read:documents', 'files.read:media']
  }

  /** A browser in which alice has allowed a client the images before. */
  async function afterFirstConsent(change: Partial<ClientRegistration> = {}) {
    const client = await server.createClient({ ...SCOPES, consent: 'remember', ...change })
    const browser = server.newBrowser()
    const ask = (scope: string) => browser.open(authorizeUrl(client.clientId, { scope }))
    const login = await ask('files.read:images')
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    await browser.submitOnly(consent, { decision: 'allow' })
    return { client, browser, ask }
  }

  const headings = (html: string) => [...html.matchAll(/<h2[^>]*>([^<]+)<\/h2>/g)].map(([, text]) => text)

  test('scopes that were allowed before are not asked again', async () => {
    const { ask } = await afterFirstConsent()
    const answer = await ask('files.read:images')
    expect(responseParameters(answer).code).toMatch(/^vk_ac_/)
  })

  test('only the new scope is asked; the earlier scope is listed as allowed and is in the token', async () => {
    const { client, browser, ask } = await afterFirstConsent()
    const page = await ask('files.read:images files.read:documents')
    expect(headings(page.body)).toEqual(['Also allow (optional)', 'You have allowed this before'])
    const ticked = { decision: 'allow', 'scope.files.read:documents': 'on' }
    const { code = '' } = responseParameters(await browser.submitOnly(page, ticked))
    expect((await exchange(server, client, code)).json().scope).toBe('files.read:images files.read:documents')
  })

  test('not ticking a new scope does not remove the earlier one', async () => {
    const { client, browser, ask } = await afterFirstConsent()
    const page = await ask('files.read:images files.read:documents')
    const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
    expect((await exchange(server, client, code)).json().scope).toBe('files.read:images')
  })

  test('another user of the same browser is asked', async () => {
    const { client, browser } = await afterFirstConsent()
    await signOut(browser)
    const login = await browser.open(authorizeUrl(client.clientId, { scope: 'files.read:images' }))
    const page = await browser.submit(login, { username: 'bob', password: PASSWORD })
    expect(page.body).toContain('value="allow"')
  })

  test('a client that does not remember consents: the user is asked each time', async () => {
    const { ask } = await afterFirstConsent({ consent: 'ask' })
    expect((await ask('files.read:images')).body).toContain('value="allow"')
  })

  test('a public client: the user is asked each time, also if its record says remember (RFC 8252 §8.6)', async () => {
    const client = await server.createClient({ ...SCOPES, consent: 'remember', type: 'public', requiresPkce: true })
    const browser = server.newBrowser()
    const url = authorizeUrl(client.clientId, { scope: 'files.read:images', ...PKCE })
    const consent = await browser.submit(await browser.open(url), { username: 'alice', password: PASSWORD })
    await browser.submitOnly(consent, { decision: 'allow' })
    const again = await browser.open(url)
    expect(again.body).toContain('value="allow"')
    expect(headings(again.body)).toEqual(['It wants to'])
  })
})

describe('consent for several APIs', () => {
  const REPORTS = 'https://reports.example'
  const ALL = { requiredScopes: ['files.read', 'reports.read', 'reports.write'] }

  beforeAll(async () => {
    await server.createResourceServer()
    await server.createResourceServer(REPORTS, { title: 'Monthly Reports' })
    await server.createScope('reports.read', { audience: REPORTS, isDefault: true })
    await server.createScope('reports.write', { audience: REPORTS })
  })

  type Change = Record<string, string | undefined>

  /** Opens a request and, if the consent page is shown, allows it. */
  async function ask(browser: Browser, { clientId }: Credentials, change: Change) {
    const page = await browser.open(authorizeUrl(clientId, change))
    const wasAsked = new URL(page.url).pathname === '/consent'
    const answer = wasAsked ? await browser.submitOnly(page, { decision: 'allow' }) : page
    return { wasAsked, words: wasAsked ? visibleText(page.body) : '', ...responseParameters(answer) } as {
      wasAsked: boolean
      words: string
      code?: string
      error?: string
    }
  }

  test('no scope: the token has the default scopes of the API (RFC 6749 §3.3)', async () => {
    const client = await server.createClient(ALL)
    const { code = '' } = await ask(await signedInBrowser(server), client, { scope: undefined, resource: REPORTS })
    expect((await exchange(server, client, code)).json().scope).toBe('reports.read')
  })

  test('the consent page and the connected apps name the API by title and host', async () => {
    const client = await server.createClient({ ...ALL, name: 'Report Reader' })
    const browser = await signedInBrowser(server)
    const { words, code = '' } = await ask(browser, client, { scope: 'reports.read' })
    expect(words).toContain('Allow Report Reader to use your Monthly Reports?')
    expect(words).toContain('Applies to Monthly Reports reports.example')
    await exchange(server, client, code)
    const files = await ask(browser, client, {})
    expect(files.words).toContain('Applies to localhost:4100')
    await exchange(server, client, files.code ?? '')
    const apps = visibleText((await browser.open(`${ISSUER}/account/apps`)).body)
    expect(apps).toMatch(/Report Reader.*Applies to localhost:4100 Monthly Reports reports\.example/)
  })

  test('a consent that is remembered for one API gives no code for another API', async () => {
    const client = await server.createClient({ ...ALL, consent: 'remember' })
    const browser = await signedInBrowser(server)
    expect((await ask(browser, client, {})).wasAsked).toBe(true)
    expect((await ask(browser, client, {})).wasAsked).toBe(false)
    expect((await ask(browser, client, { scope: 'reports.read' })).wasAsked).toBe(true)
    expect((await ask(browser, client, { scope: 'reports.read', resource: `${REPORTS}/` })).wasAsked).toBe(false)
  })

  test('a scope that moves to another API must be allowed again', async () => {
    await server.createScope('moved.read', { audience: REPORTS })
    const client = await server.createClient({ requiredScopes: ['moved.read'], consent: 'remember' })
    const browser = await signedInBrowser(server)
    await ask(browser, client, { scope: 'moved.read' })
    const text = `update scopes set audience = null where name = 'moved.read'`
    await server.database.query({ name: 'test_move_scope', text, values: [] })
    const { wasAsked, words } = await ask(browser, client, { scope: 'moved.read' })
    expect([wasAsked, words]).toEqual([true, expect.stringContaining('Applies to localhost:4100')])
  })

  test('the end of access ends the remembered consents for all APIs', async () => {
    const client = await server.createClient({ ...ALL, consent: 'remember' })
    const browser = await signedInBrowser(server)
    for (const scope of ['files.read', 'reports.read']) await ask(browser, client, { scope })
    await server.deps.account.connectedApps.end(aliceId, client.clientId)
    for (const scope of ['files.read', 'reports.read'])
      expect((await ask(browser, client, { scope })).wasAsked).toBe(true)
  })

  test('a client that is limited to an API gets no code for another one (RFC 8707 §2)', async () => {
    const client = await server.createClient({ ...ALL, audiences: [REPORTS] })
    const browser = await signedInBrowser(server)
    expect(await ask(browser, client, { scope: 'reports.read' })).toHaveProperty('code')
    expect(await ask(browser, client, { resource: AUDIENCE })).toMatchObject({ error: 'invalid_target' })
    expect(await ask(browser, client, {})).toMatchObject({ error: 'invalid_scope' })
  })
})
