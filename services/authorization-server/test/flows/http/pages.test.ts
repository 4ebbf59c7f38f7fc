import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { OAUTH_ERROR_STATUS } from '@valetkey/oauth-protocol'
import { EXPLAINED_REASONS } from '../../../src/http/send-error-page.js'
import { ERROR_CATALOGUE } from '../../../src/protocol/errors/error-catalogue.js'
import { ISSUER, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { overTheWire, type RawSend } from '../../support/over-the-wire.js'
import { addressesOn, visibleText } from '../../support/page-content.js'

const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const CODES = ERROR_CATALOGUE.map(({ code }) => code)

let server: TestServer
let send: RawSend

beforeAll(async () => {
  server = await startTestServer()
  send = await overTheWire(server.publicServer)
})
afterAll(() => server.close())

describe('the page of an error code', () => {
  test('exists for every code of the protocol package, and for the errors that are shown to the user only', () => {
    const explained = new Set<string>([...Object.keys(OAUTH_ERROR_STATUS), ...EXPLAINED_REASONS])
    expect([...CODES].sort()).toEqual([...explained].sort())
  })

  test.each(ERROR_CATALOGUE)('$code: meaning, every cause, every remedy and the RFC', async (entry) => {
    const { code, causes, remedies, source } = entry
    const answer = await send(`/errors/${code}`, { headers: HTML })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.body).toContain(`<title>${code} · Valetkey</title>`)
    const text = visibleText(answer.body)
    expect(text).toMatch(
      new RegExp(`^Valetkey Error code ${code} \\S.+ Usual causes \\S.+ How to fix it \\S.+ Defined in (RFC|OpenID) `)
    )
    expect(text).toContain(`Defined in ${source}`)
    expect(answer.body.match(/<li>[^<]{10,}<\/li>/g)).toHaveLength(causes.length + remedies.length)
  })

  test.each(CODES)('%s: 200 without Accept, and for HEAD without a body', async (code) => {
    expect((await send(`/errors/${code}`)).statusCode).toBe(200)
    const head = await send(`/errors/${code}?from=mail`, { method: 'HEAD' })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })

  test.each([
    'invalid_token',
    'unknown',
    'Invalid_Request',
    'invalid_request%20',
    'invalid_request.html',
    '__proto__',
    'constructor',
    '%3Cscript%3Ealert(1)%3C%2Fscript%3E',
    '..%2Flogin',
    '%00'
  ])('%s is unknown: 404 with the known codes, without the address', async (code) => {
    const answer = await send(`/errors/${code}`, { headers: HTML })
    expect(answer.statusCode).toBe(404)
    const text = visibleText(answer.body)
    expect(text).toContain('There is no such error code')
    for (const known of CODES) expect(text).toContain(known)
    expect(answer.body).not.toMatch(/<script|__proto__|constructor|alert/)
  })

  test.each([
    { length: 500, status: 404 },
    { length: 501, status: 400 },
    { length: 5000, status: 400 }
  ])('a code of $length letters is $status', async ({ length, status }) => {
    expect((await send(`/errors/${'a'.repeat(length)}`)).statusCode).toBe(status)
  })

  test.each(['/errors', '/errors/', '/errors/invalid_request/', '/errors/invalid_request/x'])(
    '%s is 404',
    async (path) => {
      expect((await send(path)).statusCode).toBe(404)
    }
  )
})

describe('an unknown address', () => {
  test.each([
    '/nothing',
    '/login/',
    '/oauth',
    '/oauth/token',
    '/authorize',
    '/account',
    '/assets/',
    '/assets/x.css',
    '/views/login.hbs',
    '/.env',
    '/.well-known/openid-configuration',
    '/userinfo'
  ])('%s: a page for a browser, JSON for a program', async (path) => {
    const page = await send(path, { headers: HTML })
    expect([page.statusCode, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(visibleText(page.body)).toContain('There is no such page')
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<string, string>[]) {
      const json = await send(path, { headers })
      expect([json.statusCode, json.headers['content-type']]).toEqual([404, 'application/json; charset=utf-8'])
      expect(JSON.parse(json.body)).toEqual({
        error: 'invalid_request',
        error_description: 'There is nothing at this address.',
        error_uri: `${ISSUER}/errors/invalid_request`
      })
    }
  })

  test.each(['/assets/..%2f..%2fpackage.json', '/assets/%2e%2e/%2e%2e/package.json', '/assets/../../package.json'])(
    '%s does not leave the folder',
    async (path) => {
      expect((await send(path)).statusCode).toBe(404)
    }
  )

  test.each(['/%zz', '/login%', '/%ff', '/errors/%e0%a4'])('%s is malformed: 400', async (path) => {
    const page = await send(path, { headers: HTML })
    expect([page.statusCode, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
    expect(visibleText(page.body)).toContain('This request could not be read')
    const answer = await send(path, { headers: { accept: 'application/json' } })
    expect([answer.statusCode, JSON.parse(answer.body).error]).toEqual([400, 'invalid_request'])
    expect([answer.headers['cache-control'], answer.headers['x-content-type-options']]).toEqual(['no-store', 'nosniff'])
  })
})

describe('an error page', () => {
  const pages: readonly { name: string; path: () => Promise<string> | string; request?: Parameters<RawSend>[1] }[] = [
    { name: 'unknown client', path: () => authorizeUrl('https://evil.example').slice(ISSUER.length) },
    {
      name: 'wrong redirect URI',
      path: async () => {
        const { clientId } = await server.createClient()
        return authorizeUrl(clientId, { redirect_uri: 'https://evil.example/"><a href=//evil.example>' }).slice(
          ISSUER.length
        )
      }
    },
    { name: 'too long', path: () => `/oauth/authorize?redirect_uri=https://evil.example/${'a'.repeat(8000)}` },
    { name: 'not found', path: () => '/https://evil.example/%22%3E%3Cscript%3E?x=//evil.example' },
    { name: 'no such error code', path: () => '/errors/evil.example' },
    {
      name: 'a foreign form, to the sign-in page',
      path: () => '/login',
      request: { method: 'POST', headers: { origin: 'https://evil.example' } }
    },
    {
      name: 'a foreign form, to the sign-out',
      path: () => '/logout?redirect=https://evil.example',
      request: { method: 'POST' }
    },
    {
      name: 'a foreign form, to the consent page',
      path: () => '/consent',
      request: { method: 'POST', headers: { referer: 'https://evil.example/' } }
    },
    {
      name: 'an unreadable form',
      path: () => '/login',
      request: { method: 'POST', headers: { 'content-type': 'text/evil.example' }, body: 'x' }
    }
  ]

  test.each(pages)(
    '$name: contains only our addresses and its request id, and no implementation details',
    async ({ path, request = {} }) => {
      const answer = await send(await path(), { ...request, headers: { ...HTML, ...request.headers } })
      expect(answer.statusCode).toBeGreaterThanOrEqual(400)
      expect(answer.statusCode).toBeLessThan(500)
      const addresses = addressesOn(answer.body).map((address) =>
        address.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')
      )
      for (const address of addresses) expect(address).toMatch(/^http:\/\/localhost:4000\//)
      // What the app sent is for its developer: as text, in closed details.
      const forUser = answer.body.replaceAll(/<a [^>]*>|<details[\s\S]*<\/details>/g, '')
      expect(forUser).not.toContain('evil.example')
      expect(answer.body).not.toMatch(/<script|node_modules|at \w+ \(|fastify|handlebars|stack/i)
      expect(answer.headers['x-request-id']).toMatch(REQUEST_ID)
      expect(visibleText(answer.body)).toMatch(
        new RegExp(`Request id ${answer.headers['x-request-id']} Time 20[0-9-]+T[0-9:.]+Z$`)
      )
      expect(answer.headers).not.toHaveProperty('server')
      expect(answer.headers).not.toHaveProperty('x-powered-by')
    }
  )

  test('a form with Origin null and without Sec-Fetch-Site: the page names the header that a proxy may add', async () => {
    const sent = { method: 'POST', headers: { ...HTML, origin: 'null' } }
    expect(visibleText((await send('/login', sent)).body)).toContain('Referrer-Policy: no-referrer')
    const fromElsewhere = { ...sent, headers: { ...sent.headers, 'sec-fetch-site': 'cross-site' } }
    expect((await send('/login', fromElsewhere)).body).not.toContain('Referrer-Policy')
  })

  test('a foreign form: the page links to /oauth/authorize with the unchanged query', async () => {
    const { clientId } = await server.createClient()
    const path = authorizeUrl(clientId).slice(`${ISSUER}/oauth/authorize`.length)
    for (const step of ['/login', '/consent']) {
      const answer = await send(step + path, { method: 'POST', headers: { ...HTML, origin: 'https://evil.example' } })
      expect(answer.statusCode).toBe(403)
      const links = [...answer.body.matchAll(/<a [^>]*href="([^"]*)"/g)].map((match) =>
        match[1]?.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')
      )
      expect(links).toEqual([authorizeUrl(clientId)])
      expect(links[0]).toContain(encodeURIComponent(REDIRECT_URI))
    }
  })

  const ERROR_PAGE = { branding: { homePage: 'https://printer.example/start' } }
  const openMismatch = async (clientId: string, redirectUri: string) =>
    send(authorizeUrl(clientId, { redirect_uri: redirectUri }).slice(ISSUER.length), { headers: HTML })

  test('a wrong redirect URI: a button to the home page of the app, and what was sent for its developer', async () => {
    const { clientId } = await server.createClient({ name: 'Printer <b>', ...ERROR_PAGE })
    const sent = `https://evil.example/\u202e"><a href=x>${'a'.repeat(2000)}`
    const { body } = await openMismatch(clientId, sent)
    expect(body).toContain('<a class="button button-main" href="https://printer.example/start" rel="noreferrer">')
    expect(visibleText(body)).toContain('Go to Printer &lt;b&gt;')
    const text = visibleText(body)
    expect(text).toContain(`Error code redirect_uri_mismatch What it means client_id ${clientId} redirect_uri https://`)
    expect(body).toContain(`href="${ISSUER}/errors/redirect_uri_mismatch"`)
    expect(body).toContain('https://evil.example/%E2%80%AE&quot;&gt;&lt;a href&#x3D;x&gt;aaa')
    expect(body).not.toContain('\u202e')
    expect(body).toContain('a…</code>')
    expect(body.length).toBeLessThan(6000)
  })

  test.each([
    { name: 'without a home page', change: {}, disabled: false },
    { name: 'that is disabled', change: ERROR_PAGE, disabled: true }
  ])('an app $name: no button leads to it', async ({ change, disabled }) => {
    const { clientId } = await server.createClient(change)
    if (disabled) await runCommand(server.database, ['clients', 'disable', clientId, '--yes'])
    const { body } = await openMismatch(clientId, 'https://evil.example/')
    expect(body).not.toContain('printer.example')
    expect(body).not.toMatch(/href="https:/)
    expect(body).toContain(`href="${ISSUER}/account/apps"`)
  })
})

describe('languages', () => {
  beforeAll(async () => {
    await server.createUser('alice', PASSWORD)
    await runCommand(server.database, [
      'scopes',
      'create',
      'reports.read',
      '--title',
      'Your reports',
      '--description',
      'Figures.',
      '--title-in',
      'de=Ihre Berichte',
      '--title-in',
      'ar=تقاريرك',
      '--description-in',
      'ar=أرقام.'
    ])
  })

  const german = { 'accept-language': 'de-CH, en;q=0.5' }

  /** The consent page as a browser of this language sees it. */
  async function consentIn(headers: Record<string, string>, change: Record<string, string> = {}) {
    const scope = 'files.read:images reports.read'
    const client = await server.createClient({ requiredScopes: scope.split(' '), name: '<i>Фото</i>' })
    const browser = server.newBrowser()
    const login = await browser.open(authorizeUrl(client.clientId, { scope, ...change }))
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    return browser.get(consent.url, headers)
  }

  test('a translated page has lang and Content-Language', async () => {
    const page = await server.newBrowser().open(`${ISSUER}/login`, german)
    expect(page.body).toContain('<html lang="de" dir="ltr">')
    expect(visibleText(page.body)).toContain('Anmelden Benutzername Passwort')
  })

  test('Arabic pages are right to left, and names in them keep their own direction', async () => {
    const page = await consentIn({ 'accept-language': 'ar' })
    expect(page.body).toContain('<html lang="ar" dir="rtl">')
    expect(page.body).toContain('<bdi>&lt;i&gt;Фото&lt;/i&gt;</bdi>')
    expect(page.body).toContain('<bdi dir="ltr">app.example</bdi>')
  })

  describe('scopes', () => {
    test('built-in scopes are translated', async () => {
      expect(visibleText((await consentIn(german)).body)).toContain(
        'Die Liste Ihrer Bilder sehen Namen, Größen, Arten und Datumsangaben Ihrer Bilder.'
      )
    })

    test('scopes of operators use their translations, else the default text', async () => {
      expect(visibleText((await consentIn(german)).body)).toContain('Ihre Berichte Figures.')
      expect(visibleText((await consentIn({ 'accept-language': 'ar' })).body)).toContain('تقاريرك أرقام.')
      expect(visibleText((await consentIn({})).body)).toContain('Your reports Figures.')
    })
  })

  describe('ui_locales', () => {
    test('of a request is used for all pages of the request', async () => {
      const page = await consentIn(german, { ui_locales: 'fr ar' })
      expect(page.body).toContain('<html lang="ar" dir="rtl">')
    })

    test.each(['', 'xx', '../../etc/passwd', 'de'.repeat(300)])('%j is ignored without an error', async (value) => {
      const page = await consentIn(german, { ui_locales: value })
      expect([page.statusCode, page.body.slice(0, 60)]).toEqual([200, expect.stringContaining('lang="de"')])
    })

    test('is used for a page without a request, too', async () => {
      const page = await server.newBrowser().open(`${ISSUER}/login?ui_locales=de`)
      expect(visibleText(page.body)).toContain('Anmelden')
    })
  })

  test.each([
    {
      name: 'an unknown client',
      url: '/oauth/authorize?client_id=none',
      status: 400,
      text: 'Diese App ist hier nicht'
    },
    { name: 'no such page', url: '/nothing', status: 404, text: 'Diese Seite gibt es nicht' },
    { name: 'an error code', url: '/errors/invalid_grant', status: 200, text: 'Übliche Ursachen' },
    { name: 'no such code', url: '/errors/none', status: 404, text: 'Diesen Fehlercode gibt es nicht' }
  ])('$name is shown in the user’s language', async ({ url, status, text }) => {
    const page = await server.newBrowser().open(`${ISSUER}${url}`, german)
    expect(page.statusCode).toBe(status)
    expect(visibleText(page.body)).toContain(text)
  })

  test('responses to programs are in English for every preference', async () => {
    const answer = await server.publicServer.inject({ method: 'POST', url: '/token', headers: german })
    expect(answer.json().error_description).toMatch(/^[A-Z][a-z ]+/)
    expect(answer.json()).toEqual((await server.publicServer.inject({ method: 'POST', url: '/token' })).json())
  })
})
