import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await runCommand(server.database, [
    ...['scopes', 'create', 'reports.read', '--title', 'Your reports', '--description', 'Figures.'],
    ...['--title-in', 'de=Ihre Berichte', '--title-in', 'ar=تقاريرك', '--description-in', 'ar=أرقام.']
  ])
})
afterAll(() => server.close())

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
  { name: 'an unknown client', url: '/oauth/authorize?client_id=none', status: 400, text: 'Diese App ist hier nicht' },
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
