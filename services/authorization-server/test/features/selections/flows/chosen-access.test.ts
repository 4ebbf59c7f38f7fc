import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, refresh, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'
import { pairOf } from '../../../support/tokens.js'
import { allowChosen, callAs, chooseAtApi, DETAIL, detailsOf, leave, SELECTED } from '../support/choosing.js'

const BOTH = 'files.read:images files.selected'
const CHOSEN = [{ type: 'files', identifier: 'sel_1' }]

let server: TestServer
let api: Credentials
let client: Credentials
let browser: Browser

beforeAll(async () => {
  server = await startTestServer()
  api = await server.createResourceServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  await server.redis.flushdb()
  client = await server.createClient({ requiredScopes: [], optionalScopes: BOTH.split(' '), consent: 'remember' })
  const username = `user-${Math.random()}`
  await server.createUser(username, PASSWORD)
  browser = await signedInBrowser(server, username)
})

const where = () => ({ server, api, browser, client })
const consentFor = (scope: string, change: Record<string, string> = {}) =>
  browser.open(authorizeUrl(client.clientId, { scope, ...change }))
const silently = async (scope: string) =>
  responseParameters(await browser.get(authorizeUrl(client.clientId, { scope, prompt: 'none' })))

describe('what a user chose', () => {
  test('is for the API, without the summary, and the client does not see it (RFC 9396 §9.2)', async () => {
    const tokens = await allowChosen(where())
    expect(await detailsOf(server, api, tokens)).toEqual({
      active: true,
      scope: SELECTED,
      authorization_details: CHOSEN
    })
    expect(tokens).not.toHaveProperty('authorization_details')
  })

  test('stays with a refresh, and leaves with the scope that selects', async () => {
    const first = await allowChosen(where(), { scope: BOTH })
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expect(second).not.toHaveProperty('authorization_details')
    expect(await detailsOf(server, api, second)).toMatchObject({ authorization_details: CHOSEN })
    const narrow = pairOf(await refresh(server, client, second.refresh_token, { scope: SELECTED }))
    expect(await detailsOf(server, api, narrow)).toMatchObject({ scope: SELECTED, authorization_details: CHOSEN })
    const images = { scope: 'files.read:images' }
    const other = pairOf(await refresh(server, client, narrow.refresh_token, images))
    expect(await detailsOf(server, api, other)).toEqual({ active: true, ...images, authorization_details: undefined })
  })

  test('is not in the token of a user who left the scope out', async () => {
    const page = await consentFor(BOTH)
    const back = await chooseAtApi(where(), await leave(browser, page))
    const form = { decision: 'allow', [`scope.${SELECTED}`]: '', 'scope.files.read:images': 'on' }
    const { code = '' } = responseParameters(await browser.submitOnly(back, form))
    const tokens = pairOf(await exchange(server, client, code))
    expect(await detailsOf(server, api, tokens)).toEqual({
      active: true,
      scope: 'files.read:images',
      authorization_details: undefined
    })
  })

  test('is another for each Allow: neither changes what the other gives access to', async () => {
    const first = await allowChosen(where())
    const second = await allowChosen(where(), {}, { ...DETAIL, identifier: 'sel_2' })
    expect(await detailsOf(server, api, first)).toMatchObject({ authorization_details: CHOSEN })
    expect(await detailsOf(server, api, second)).toMatchObject({ authorization_details: [{ identifier: 'sel_2' }] })
  })

  test('is in the audit entry of Allow', async () => {
    await allowChosen(where())
    const details = async (event: string) => (await auditRows(server)).findLast((row) => row.event === event)?.details
    expect(await details('consent_given')).toMatchObject({ chosen: CHOSEN })
    expect(await details('selection_started')).toMatchObject({ reason: 'request' })
  })
})

describe('the consent page with a scope that selects', () => {
  test('says that nothing is chosen; Allow leads to the page of the API', async () => {
    const page = await consentFor(SELECTED)
    expect(visibleText(page.body)).toContain('Nothing chosen yet')
    const left = await browser.submitOnly(page, { decision: 'allow' })
    expect([left.statusCode, String(left.headers.location)]).toEqual([
      303,
      expect.stringMatching(/^http:\/\/localhost:4100\/choose\?handover=[A-Za-z0-9_-]{43}$/)
    ])
  })

  test('keeps the ticked boxes and shows the summary after the return, also without a choice', async () => {
    const page = await consentFor(BOTH)
    const handover = await leave(browser, page, { 'scope.files.read:images': 'on' })
    const { return_to } = (await callAs(server, api, 'start', { handover })).json()
    const cancelled = await browser.open(return_to)
    expect(tickedOn(cancelled.body)).toEqual(BOTH.split(' '))
    expect(visibleText(cancelled.body)).toContain('Nothing chosen yet')
    await callAs(server, api, 'finish', { handover, ...DETAIL })
    const back = await browser.open(return_to)
    expect(tickedOn(back.body)).toEqual(BOTH.split(' '))
    expect(visibleText(back.body)).toContain('12 photos')
  })

  test('Allow with an unticked box does not ask for a choice', async () => {
    const answer = await browser.submitOnly(await consentFor(BOTH), {
      decision: 'allow',
      'scope.files.read:images': 'on'
    })
    expect(responseParameters(answer)).toHaveProperty('code')
  })

  test('tells the API who chooses, for which app and scope, and in which language', async () => {
    const handover = await leave(browser, await consentFor(SELECTED, { ui_locales: 'de' }))
    const answer = await callAs(server, api, 'start', { handover })
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
    expect(answer.json()).toEqual({
      sub: expect.any(String),
      client_id: client.clientId,
      client_name: 'Photo Printer',
      scope: SELECTED,
      language: 'de',
      return_to: expect.stringContaining('/consent?'),
      expires_in: expect.any(Number)
    })
    expect(answer.json().expires_in).toBeGreaterThan(890)
  })

  test('escapes a summary', async () => {
    const handover = await leave(browser, await consentFor(SELECTED))
    const back = await chooseAtApi(where(), handover, { ...DETAIL, summary: '<b>2</b> “files”' })
    expect(back.body).toContain('&lt;b&gt;2&lt;/b&gt;')
  })

  test('shows no button for a request without such a scope', async () => {
    expect((await consentFor('files.read:images')).body).not.toContain('value="choose"')
  })
})

describe('a remembered consent', () => {
  test('never covers a scope that selects: the next request asks again, and prompt=none is consent_required', async () => {
    await allowChosen(where(), { scope: BOTH })
    expect(await silently(BOTH)).toMatchObject({ error: 'consent_required' })
    expect(await silently(SELECTED)).toMatchObject({ error: 'consent_required' })
    expect(visibleText((await consentFor(BOTH)).body)).toContain('Nothing chosen yet')
  })

  test('covers the other scopes of the request', async () => {
    const page = await consentFor(BOTH)
    const back = await chooseAtApi(where(), await leave(browser, page, { 'scope.files.read:images': 'on' }))
    await browser.submitOnly(back, { decision: 'allow' })
    expect(await silently('files.read:images')).toHaveProperty('code')
  })

  test('has that the user left it out, until the user allows it', async () => {
    await browser.submitOnly(await consentFor(BOTH), { decision: 'allow', 'scope.files.read:images': 'on' })
    expect(await silently(BOTH)).toHaveProperty('code')
    await allowChosen(where(), { scope: BOTH, prompt: 'consent' })
    expect(await silently(BOTH)).toMatchObject({ error: 'consent_required' })
  })

  test('from before the scope selected does not cover it', async () => {
    await server.createResourceServer('https://letters.example')
    const scope = { audience: 'https://letters.example' }
    await server.createScope('letters.some', scope)
    const reader = await server.createClient({ requiredScopes: ['letters.some'], consent: 'remember' })
    const asked = { scope: 'letters.some', resource: scope.audience }
    await browser.submitOnly(await browser.open(authorizeUrl(reader.clientId, asked)), { decision: 'allow' })
    const ask = async () =>
      responseParameters(await browser.get(authorizeUrl(reader.clientId, { ...asked, prompt: 'none' })))
    expect(await ask()).toHaveProperty('code')
    await markAsSelecting('letters.some')
    expect(await ask()).toMatchObject({ error: 'consent_required' })
  })
})

async function markAsSelecting(name: string): Promise<void> {
  const { runCommand } = await import('../../../support/command-line.js')
  await runCommand(server.database, ['scopes', 'update', name, '--selects'])
  while (!(await server.deps.scopes.list()).some((scope) => scope.name === name && scope.selects)) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const tickedOn = (body: string): string[] =>
  [...body.matchAll(/<input type="checkbox"[^>]* name="scope\.([^"]*)"[^>]* checked/g)].map(([, name = '']) => name)
