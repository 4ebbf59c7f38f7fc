import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Client } from '@valetkey/oauth-protocol'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { dumpRedis } from '../../support/dump-stores.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'
import { disable } from '../../support/tokens.js'

const PKCE = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
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
