import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { type Browser, firstForm, type Page } from '../../../support/browser.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'
import { disable, type Tokens } from '../../../support/tokens.js'
import { allowChosen, callAs, DETAIL, detailsOf, handoverIn, SELECTED } from '../support/choosing.js'

const OTHER = { ...DETAIL, identifier: 'sel_2', summary: '3 documents' }

let server: TestServer
let api: Credentials
let client: Credentials
let browser: Browser
let userId: string
let tokens: Tokens

beforeAll(async () => {
  server = await startTestServer()
  api = await server.createResourceServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  await server.redis.flushdb()
  client = await server.createClient({ requiredScopes: [SELECTED, 'files.read:images'] })
  const username = `user-${Math.random()}`
  userId = await server.createUser(username, PASSWORD)
  browser = await signedInBrowser(server, username)
  tokens = await allowChosen({ server, api, browser, client })
})

const listApps = () => browser.open(`${ISSUER}/account/apps`)

/** The page with the form of this choice only. */
function formOfChoice(page: Page, identifier: string): Page {
  const forms = [...page.body.matchAll(/<form[\s\S]*?<\/form>/g)].map(([form]) => form)
  return { ...page, body: forms.find((form) => form.includes(`value="${identifier}"`)) ?? '' } as Page
}

const press = async (identifier = DETAIL.identifier, change: Record<string, string> = {}) =>
  browser.submitOnly(formOfChoice(await listApps(), identifier), change)

const start = (handover: string) => callAs(server, api, 'start', { handover })
const finish = (handover: string, detail: object) => callAs(server, api, 'finish', { handover, ...detail })

describe('the list of connected apps', () => {
  test('shows each choice once, with a button', async () => {
    await allowChosen({ server, api, browser, client })
    await allowChosen({ server, api, browser, client }, {}, OTHER)
    const page = await listApps()
    expect(
      visibleText(page.body)
        .match(/12 photos|3 documents/g)
        ?.sort()
    ).toEqual(['12 photos', '3 documents'])
    expect(page.headers['content-security-policy']).toContain("form-action 'self' http://localhost:4100;")
    expect(firstForm(formOfChoice(page, 'sel_2').body).fields).toMatchObject({
      client_id: client.clientId,
      audience: 'http://localhost:4100',
      identifier: 'sel_2'
    })
  })

  test('shows none for an app without a scope that selects', async () => {
    await allowChosen({ server, api, browser, client })
    const plain = await signedInBrowser(server, await newUser())
    const page = await plain.open(`${ISSUER}/account/apps`)
    expect(page.body).not.toContain('/account/apps/choose')
    expect(page.headers['content-security-policy']).toContain("form-action 'self';")
  })
})

describe('a choice that is changed later', () => {
  test('leads to the API with the present choice, and the list has the new summary; tokens stay', async () => {
    const handover = handoverIn(await press())
    const { return_to, ...started } = (await start(handover)).json()
    expect(started).toMatchObject({ sub: userId, client_id: client.clientId, scope: SELECTED, identifier: 'sel_1' })
    expect(return_to).toBe(`${ISSUER}/account/apps`)
    const done = (await finish(handover, { ...DETAIL, summary: '4 photos' })).json()
    const text = visibleText((await browser.open(done.return_to)).body)
    expect([text.includes('4 photos'), text.includes('12 photos')]).toEqual([true, false])
    expect(text).toContain('Your choice was changed.')
    expect(await detailsOf(server, api, tokens)).toMatchObject({
      active: true,
      authorization_details: [{ type: 'files', identifier: 'sel_1' }]
    })
    expect((await auditRows(server)).findLast(({ event }) => event === 'selection_changed')).toMatchObject({
      details: { chosen: [{ type: 'files', identifier: 'sel_1' }] }
    })
  })

  test('changes no other choice, also not one of the same name of another user', async () => {
    const other = await signedInBrowser(server, await newUser())
    await allowChosen({ server, api, browser: other, client })
    await allowChosen({ server, api, browser, client }, {}, OTHER)
    const handover = handoverIn(await press())
    await start(handover)
    await finish(handover, { ...DETAIL, summary: '4 photos' })
    expect(visibleText((await listApps()).body)).toContain('3 documents')
    expect(visibleText((await other.open(`${ISSUER}/account/apps`)).body)).toContain('12 photos')
  })

  test.each([
    { name: 'identifier', change: { identifier: 'sel_2' } },
    { name: 'type', change: { type: 'letters' } }
  ])('cannot get another $name', async ({ change }) => {
    const handover = handoverIn(await press())
    await start(handover)
    expect((await finish(handover, { ...DETAIL, ...change })).statusCode).toBe(400)
    expect(visibleText((await listApps()).body)).toContain('12 photos')
  })

  test('is unknown once the user has ended the access, before and after the start', async () => {
    const [early, late] = [handoverIn(await press()), handoverIn(await press())]
    await start(late)
    await endAccess()
    expect((await start(early)).statusCode).toBe(404)
    expect((await finish(late, DETAIL)).statusCode).toBe(404)
  })

  test.each(['user', 'client'] as const)('is unknown once the %s is disabled', async (kind) => {
    const handover = handoverIn(await press())
    await start(handover)
    await disable(server, kind, kind === 'user' ? userId : client.clientId)
    expect((await finish(handover, DETAIL)).statusCode).toBe(404)
  })

  test.each([
    { name: 'another choice', change: { identifier: 'sel_9' } },
    { name: 'another API', change: { audience: 'https://evil.example' } },
    { name: 'another app', change: { client_id: 'client_other' } }
  ])('$name than those on the page leads back to the list', async ({ change }) => {
    const answer = await press(DETAIL.identifier, change as unknown as Record<string, string>)
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `${ISSUER}/account/apps`])
  })

  test("another user's form leads back to the list, and a form of another site is refused", async () => {
    const form = formOfChoice(await listApps(), DETAIL.identifier)
    await server.redis.flushdb()
    const other = await signedInBrowser(server, await newUser())
    const answer = await other.submitOnly(form, {})
    expect(answer.headers.location).toBe(`${ISSUER}/account/apps`)
    expect((await browser.submitOnly(form, {}, { origin: 'https://evil.example' })).statusCode).toBe(403)
    expect(await server.redis.keys('vk:handover:*')).toEqual([])
  })
})

async function newUser(): Promise<string> {
  const username = `user-${Math.random()}`
  await server.createUser(username, PASSWORD)
  return username
}

async function endAccess(): Promise<void> {
  const page = await browser.open(`${ISSUER}/account/apps/end?client_id=${client.clientId}`)
  await browser.submitOnly(page, {})
}
