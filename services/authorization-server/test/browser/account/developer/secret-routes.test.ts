import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, secretIdOf } from '@valetkey/oauth-protocol'
import { ISSUER, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { newApp, secretIn, sendForm, startDeveloperServer } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { collectLog } from '../../../support/log-lines.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'

const clock = stopClock()
const { logger, text: logText } = collectLog()
let server: TestServer
let browser: Browser
let app: { clientId: string; url: string; clientSecret: string | undefined }

const run = (text: string, values: readonly unknown[] = []) => server.database.query({ name: '', text, values })

beforeAll(async () => {
  server = await startDeveloperServer('approved', logger)
})
beforeEach(async () => {
  await run('delete from users')
  await run(`delete from clients where origin = 'developer'`)
  await server.createUser('alice', PASSWORD)
  browser = await signedInBrowser(server)
  app = await newApp(server, browser)
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

/** Whether the secret authenticates the app: an unknown token is no error at the revocation endpoint. */
async function works(clientSecret = ''): Promise<boolean> {
  const payload = new URLSearchParams({ client_id: app.clientId, client_secret: clientSecret, token: 'unknown' })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await server.publicServer.inject({
    method: 'POST',
    url: '/oauth/revoke',
    headers,
    payload: payload.toString()
  })
  return answer.statusCode === 200
}

const liveSecrets = () => run('select secret_hash from client_secrets where client_id = $1', [app.clientId])
const pathOf = (below: string) => `${new URL(app.url).pathname}/${below}`

describe('/account/developer/apps/ID/secrets', () => {
  test('a new secret works beside the old one; then the old one can be removed, but never the last', async () => {
    const shown = await sendForm(browser, app.url, 'secrets')
    const secret = secretIn(shown.body)
    expect([shown.statusCode, shown.headers['cache-control'], secret === app.clientSecret]).toEqual([
      200,
      'no-store',
      false
    ])
    expect(visibleText(shown.body)).toContain('never shown again')
    expect([await works(secret), await works(app.clientSecret)]).toEqual([true, true])
    const page = await browser.open(app.url)
    expect(visibleText(page.body)).toContain('An app can have two live secrets')
    const old = { secret_id: secretIdOf(hashToken(app.clientSecret ?? '')) }
    const removed = await sendForm(browser, app.url, 'secrets/remove', old)
    expect(removed.url).toBe(`${app.url}?done=secret_removed`)
    expect([await works(secret), await works(app.clientSecret)]).toEqual([true, false])
    const last = await sendForm(browser, app.url, 'secrets/remove')
    expect([last.statusCode, visibleText(last.body)]).toEqual([422, expect.stringContaining('It is the only one')])
    expect(await works(secret)).toBe(true)
  })

  test('the secret is in no address, in no other page and not in the log', async () => {
    const page = await browser.open(app.url)
    const shown = await browser.submitOnly(fromForm(page, pathOf('secrets')), {})
    const secret = secretIn(shown.body) ?? 'none'
    expect(shown.headers.location).toBeUndefined()
    for (const address of [app.url, `${app.url}/edit`, `${app.url}/delete`, `${app.url}?done=saved`]) {
      expect((await browser.open(address)).body).not.toContain(secret)
    }
    expect(logText()).not.toContain(secret)
    expect(logText()).toContain('client_secret_rotated')
  })

  test('a reload of the page with the secret creates no other secret and does not show it again', async () => {
    const form = fromForm(await browser.open(app.url), pathOf('secrets'))
    const first = await browser.submitOnly(form, {})
    const again = await browser.submitOnly(form, {})
    expect([first.statusCode, again.statusCode, secretIn(again.body)]).toEqual([200, 422, undefined])
    expect(visibleText(again.body)).toContain('No secret was created.')
    expect(await liveSecrets()).toHaveLength(2)
  })

  test('of several forms at the same moment one creates a secret', async () => {
    const form = fromForm(await browser.open(app.url), pathOf('secrets'))
    const answers = await Promise.all([1, 2, 3].map(() => browser.submitOnly(form, {})))
    expect(answers.filter(({ body }) => secretIn(body) !== undefined)).toHaveLength(1)
    expect(await liveSecrets()).toHaveLength(2)
  })

  test.each(['secrets', 'secrets/remove'])('%s needs a fresh sign-in', async (below) => {
    await sendForm(browser, app.url, 'secrets')
    await sendForm(browser, app.url, 'secrets/remove')
    const page = await browser.open(app.url)
    const form = fromForm(page, pathOf(below))
    clock.advance(360)
    const answer = await browser.submitOnly(form, {})
    expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${app.clientId}`)
    expect(await liveSecrets()).toHaveLength(1)
    const later = await browser.open(app.url)
    expect(later.body).not.toContain(`action="${app.url}/${below}"`)
    expect(visibleText(later.body)).toContain('Sign in again')
  })

  test('a public app has no secret', async () => {
    const { url } = await newApp(server, browser, { name: 'Pocket', type: 'public' })
    const form = fromForm(await browser.open(app.url), pathOf('secrets'))
    const body = form.body.replaceAll(app.url, url)
    const answer = await browser.submitOnly(Object.assign(Object.create(form), { body }), { known_secrets: '' })
    expect([answer.statusCode, answer.headers.location]).toEqual([303, url])
  })
})
