import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ISSUER, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { APPS, newApp, sendForm, startDeveloperServer } from '../../../support/developer.js'
import { authorizeUrl, PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../../support/pages.js'
import { obtainTokens } from '../../../support/tokens.js'

const clock = stopClock()
const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
let server: TestServer
let browser: Browser

const run = (text: string, values: readonly unknown[] = []) => server.database.query({ name: '', text, values })

beforeAll(async () => {
  server = await startDeveloperServer()
})
beforeEach(async () => {
  await run('delete from users')
  await run(`delete from clients where origin = 'developer'`)
  await server.createUser('alice', PASSWORD)
  browser = await signedInBrowser(server)
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

const textOf = async (url: string) => visibleText((await browser.open(url)).body)

describe('/account/developer/apps/ID', () => {
  test('asks for approval and withdraws the request', async () => {
    const { url } = await newApp(server, browser)
    const requested = await sendForm(browser, url, 'request')
    expect([requested.url, visibleText(requested.body)]).toEqual([
      `${url}?done=requested`,
      expect.stringContaining('Waiting for approval.')
    ])
    const withdrawn = await sendForm(browser, url, 'withdraw')
    expect([withdrawn.url, visibleText(withdrawn.body)]).toEqual([
      `${url}?done=withdrawn`,
      expect.stringContaining('Draft.')
    ])
  })

  test('shows the reason of a refusal as text, and the app can be requested again', async () => {
    const { clientId, url } = await newApp(server, browser)
    const refusal = '<b>The name</b> is that of a bank.'
    await run('update developer_apps set refusal = $2, decided_at = now() where client_id = $1', [clientId, refusal])
    const { body } = await browser.open(url)
    expect(visibleText(body)).toMatch(/Not approved\..*Reason of the operator/s)
    expect(body).toContain('&lt;b&gt;The name&lt;/b&gt; is that of a bank.')
    expect((await sendForm(browser, url, 'request')).url).toBe(`${url}?done=requested`)
    expect(await textOf(url)).not.toContain('that of a bank')
  })

  test.each(['', '/edit', '/delete'])('an invalid id is not used in a redirect: %j', async (below) => {
    for (const id of ['%0d%0aset-cookie:a=b', '%E2%82%AC', 'a%26prompt=none', 'a%2f..%2f..']) {
      const { statusCode, headers } = await server.newBrowser().get(`${APPS}/apps/${id}${below}`)
      expect([id, statusCode, headers.location]).toEqual([id, 404, undefined])
    }
  })

  test('a change of an approved app can be withdrawn', async () => {
    const { clientId, url } = await newApp(server, browser)
    const pending = {
      name: 'Bells',
      redirectUris: ['https://b.example/'],
      requiredScopes: ['x'],
      optionalScopes: [],
      branding: {}
    }
    await run('update clients set published = true where client_id = $1', [clientId])
    const change = 'update developer_apps set pending = $2::jsonb, requested_at = now() where client_id = $1'
    await run(change, [clientId, JSON.stringify(pending)])
    expect(await textOf(url)).toMatch(/Now\s+Wind Chimes\s+After approval\s+Bells/)
    const withdrawn = await sendForm(browser, url, 'withdraw-change')
    expect(visibleText(withdrawn.body)).toContain('Approved.')
    expect(visibleText(withdrawn.body)).not.toContain('Bells')
  })

  test('names endpoints and settings to copy', async () => {
    const { clientId, url } = await newApp(server, browser)
    const { body } = await browser.open(url)
    const settings = /<pre class="copyable"[^>]*>([^<]*)</.exec(body)?.[1]?.replaceAll('&#x3D;', '=').split('\n')
    expect(settings).toEqual([
      `issuer=${ISSUER}`,
      `metadata=${ISSUER}/.well-known/oauth-authorization-server`,
      `authorization_endpoint=${ISSUER}/oauth/authorize`,
      `token_endpoint=${ISSUER}/token`,
      `revocation_endpoint=${ISSUER}/oauth/revoke`,
      `client_id=${clientId}`,
      'redirect_uri=https://app.example/callback',
      'scope=photos.read'
    ])
  })

  test('counts the connected users', async () => {
    const { clientId, clientSecret = '', url } = await newApp(server, browser)
    await run('update clients set published = true where client_id = $1', [clientId])
    await obtainTokens(server, { clientId, clientSecret }, { scope: 'photos.read' })
    const text = await textOf(url)
    expect(text).toMatch(/Connected users 1 /)
  })

  test.each(['request', 'withdraw', 'withdraw-change', 'disable', 'delete', 'secrets', 'secrets/remove', 'owners'])(
    '%s: a form of another site changes nothing, and the app of another user is unknown',
    async (below) => {
      const { clientId, url } = await newApp(server, browser)
      const own = await browser.open(`${url}/delete`)
      const form = (page: typeof own) =>
        Object.assign(Object.create(page), { body: page.body.replaceAll(`${url}/delete`, `${url}/${below}`) })
      expect((await browser.submitOnly(form(own), {}, FOREIGN)).statusCode).toBe(403)
      await server.createUser('mallory', PASSWORD)
      const mallory = await signedInBrowser(server, 'mallory')
      const { clientId: others, url: othersUrl } = await newApp(server, mallory, { name: 'Others' })
      const page = await mallory.open(`${othersUrl}/delete`)
      const answers = []
      for (const target of [clientId, 'A'.repeat(clientId.length), '..']) {
        const body = page.body.replaceAll(`${othersUrl}/delete`, `${APPS}/apps/${target}/${below}`)
        const answer = await mallory.submitOnly(Object.assign(Object.create(page), { body }), { username: 'bob' })
        answers.push([answer.statusCode, visibleText(answer.body).replace(/Request id.*/s, '')])
      }
      expect(new Set(answers.map(String)).size).toBe(1)
      expect(answers[0]?.[0]).toBe(404)
      expect(others).not.toBe(clientId)
      const rows = await run('select client_id from developer_apps where client_id = $1 and requested_at is null', [
        clientId
      ])
      expect(rows).toHaveLength(1)
    }
  )

  test('without a session it leads to the sign-in page and back to the app', async () => {
    const { url, clientId } = await newApp(server, browser)
    const stranger = server.newBrowser()
    const login = await stranger.open(url)
    expect(login.url).toBe(`${ISSUER}/login?page=developer/apps/${clientId}`)
    expect((await stranger.submit(login, { username: 'alice', password: PASSWORD })).url).toBe(url)
  })

  test.each([
    'developer/apps/../../../logout',
    'developer/apps/a/b',
    'developer/apps/',
    '//evil.example',
    'developer//a'
  ])('the sign-in page does not lead to "%s"', async (page) => {
    const stranger = server.newBrowser()
    const login = await stranger.open(`${ISSUER}/login?page=${encodeURIComponent(page)}`)
    const after = await stranger.submit(login, { username: 'alice', password: PASSWORD })
    expect(after.url).toBe(`${ISSUER}/account/apps`)
  })
})

describe('end of an app', () => {
  test.each([
    { end: 'disable', submit: 'Disable Wind Chimes', after: (url: string) => `${url}?done=disabled` },
    { end: 'delete', submit: 'Delete Wind Chimes', after: () => `${APPS}?done=deleted` }
  ])('$end: a page that names the app asks first, and the app gets no more access', async ({ end, submit, after }) => {
    const { clientId, url } = await newApp(server, browser)
    expect((await browser.open(url)).body).not.toContain(`action="${url}/${end}"`)
    const page = await browser.open(`${url}/${end}`)
    expect(visibleText(page.body)).toContain(submit)
    expect((await browser.submit(page, {})).url).toBe(after(url))
    const request = await browser.get(authorizeUrl(clientId, { scope: 'photos.read' }))
    expect([request.statusCode, request.headers.location]).toEqual([400, undefined])
    // Sent twice.
    expect([303, 404]).toContain((await browser.submitOnly(page, {})).statusCode)
  })

  test.each(['disable', 'delete'])('%s needs a fresh sign-in', async (end) => {
    const { clientId, url } = await newApp(server, browser)
    const page = await browser.open(`${url}/${end}`)
    clock.advance(360)
    const answer = await browser.submitOnly(page, {})
    expect(answer.headers.location).toBe(`${ISSUER}/login?page=developer/apps/${clientId}`)
    expect((await browser.open(`${url}/${end}`)).body).not.toContain('<form')
    expect(await textOf(url)).toContain('Draft.')
  })
})

describe('DEVELOPER_APPS=open', () => {
  test('an app is published immediately, and so is a change', async () => {
    const open = await startDeveloperServer('open')
    try {
      await open.createUser('alice', PASSWORD)
      const alice = await signedInBrowser(open)
      const { url } = await newApp(open, alice)
      const page = await alice.open(url)
      expect(visibleText(page.body)).toContain('Works for everybody.')
      expect(() => fromForm(page, `${new URL(url).pathname}/request`)).toThrow()
    } finally {
      await open.close()
    }
  })
})
