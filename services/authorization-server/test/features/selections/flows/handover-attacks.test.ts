import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { signedInBrowser } from '../../../support/pages.js'
import { disable, pairOf } from '../../../support/tokens.js'
import { callAs, chooseAtApi, DETAIL, detailsOf, handoverIn, leave, SELECTED } from '../support/choosing.js'

let server: TestServer
let api: Credentials
let otherApi: Credentials
let client: Credentials
let browser: Browser
let page: Page

beforeAll(async () => {
  server = await startTestServer()
  api = await server.createResourceServer()
  otherApi = await server.createResourceServer('https://letters.example')
  client = await server.createClient({ requiredScopes: [SELECTED] })
  await server.createUser('alice', PASSWORD)
  await server.createUser('bob', PASSWORD)
})
afterAll(() => server.close())
beforeEach(async () => {
  await server.redis.flushdb()
  browser = await signedInBrowser(server)
  page = await browser.open(authorizeUrl(client.clientId, { scope: SELECTED }))
})

const start = (handover: unknown, caller: Credentials | undefined = api) =>
  callAs(server, caller, 'start', { handover })
const finish = (handover: unknown, detail: object = DETAIL, caller = api) =>
  callAs(server, caller, 'finish', { handover, ...detail })
const outcomeOf = async (call: ReturnType<typeof start>) => {
  const answer = await call
  return [answer.statusCode, answer.json().error]
}
const UNKNOWN = [404, 'unknown_handover']
const OK = [200, undefined]

describe('a hand-over', () => {
  test('starts once', async () => {
    const handover = await leave(browser, page)
    expect(await outcomeOf(start(handover))).toEqual(OK)
    expect(await outcomeOf(start(handover))).toEqual(UNKNOWN)
  })

  test('of 20 concurrent starts, starts once', async () => {
    const handover = await leave(browser, page)
    const all = await Promise.all(Array.from({ length: 20 }, () => start(handover)))
    expect(all.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
  })

  test('of another API is unknown, and stays unused', async () => {
    const handover = await leave(browser, page)
    expect(await outcomeOf(start(handover, otherApi))).toEqual(UNKNOWN)
    expect(await outcomeOf(start(handover))).toEqual(OK)
    expect(await outcomeOf(finish(handover, DETAIL, otherApi))).toEqual(UNKNOWN)
    expect(await outcomeOf(finish(handover))).toEqual(OK)
  })

  test.each(['', 'x', 'A'.repeat(43), '../vk:code', `${'A'.repeat(42)}\n`])(
    '%j was never given out',
    async (forged) => {
      expect(await outcomeOf(start(forged))).toEqual(UNKNOWN)
      expect(await outcomeOf(finish(forged))).toEqual(UNKNOWN)
    }
  )

  test('is unknown after 15 minutes', async () => {
    const handover = await leave(browser, page)
    await start(handover)
    const [key = ''] = await server.redis.keys('vk:handover:*')
    expect(await server.redis.ttl(key)).toBeGreaterThan(890)
    expect(await server.redis.ttl(key)).toBeLessThanOrEqual(900)
    await server.redis.pexpire(key, 1)
    while ((await server.redis.exists(key)) === 1) await new Promise((resolve) => setImmediate(resolve))
    expect(await outcomeOf(finish(handover))).toEqual(UNKNOWN)
  })

  test('that was written without our keys, or under another id, is unknown', async () => {
    const handover = await leave(browser, page)
    const [key = ''] = await server.redis.keys('vk:handover:*')
    const stored = (await server.redis.get(key)) ?? ''
    await server.redis.set(key, stored.replace('"scope":"files.selected"', '"scope":"files.read"'), 'EX', 900)
    expect(await outcomeOf(start(handover))).toEqual(UNKNOWN)
    const second = await leave(browser, page)
    const other = (await server.redis.keys('vk:handover:*')).find((each) => each !== key) ?? ''
    await server.redis.set(other, stored, 'EX', 900)
    expect(await outcomeOf(start(second))).toEqual(UNKNOWN)
  })

  test('of a user who was disabled since is unknown', async () => {
    await server.createUser('carol', PASSWORD)
    const carol = await signedInBrowser(server, 'carol')
    const handover = await leave(carol, await carol.open(authorizeUrl(client.clientId, { scope: SELECTED })))
    await disable(server, 'user', (await userIdOf('carol')) ?? '')
    expect(await outcomeOf(start(handover))).toEqual(UNKNOWN)
  })

  test('is in Redis as a hash only', async () => {
    const handover = await leave(browser, page)
    const keys = await server.redis.keys('*')
    expect(keys.join()).not.toContain(handover)
    expect(JSON.stringify(await server.redis.mget(await server.redis.keys('vk:handover:*')))).not.toContain(handover)
  })

  test('of a user beyond the 20 newest is forgotten', async () => {
    const all: string[] = []
    for (let count = 0; count < 22; count++) all.push(await leave(browser, page))
    expect(await server.redis.keys('vk:handover:*')).toHaveLength(20)
    expect(await outcomeOf(start(all[1]))).toEqual(UNKNOWN)
    expect(await outcomeOf(start(all[2]))).toEqual(OK)
  })

  test('cannot be finished before it is started, and again until it expires: the last counts', async () => {
    const handover = await leave(browser, page)
    expect(await outcomeOf(finish(handover))).toEqual(UNKNOWN)
    await start(handover)
    expect(await outcomeOf(finish(handover))).toEqual(OK)
    const { return_to } = (await finish(handover, { ...DETAIL, identifier: 'sel_2', summary: '3 files' })).json()
    expect(visibleText((await browser.open(return_to)).body)).toContain('3 files')
  })

  test.each([
    { name: 'a type with blanks', change: { type: 'my files' } },
    { name: 'no type', change: { type: undefined } },
    { name: 'an identifier with a slash', change: { identifier: 'a/b' } },
    { name: 'an identifier of 129 characters', change: { identifier: 'x'.repeat(129) } },
    { name: 'an identifier that is a number', change: { identifier: 1 } },
    { name: 'a summary of 201 characters', change: { summary: 'x'.repeat(201) } },
    { name: 'a summary of two lines', change: { summary: 'a\nb' } },
    { name: 'a summary with a line separator', change: { summary: 'a\u2028b' } },
    { name: 'a summary that changes the direction of text', change: { summary: 'a\u202eb' } },
    { name: 'an empty summary', change: { summary: '  ' } },
    { name: 'no hand-over', change: { handover: undefined } }
  ])('$name is invalid_request', async ({ change }) => {
    const handover = await leave(browser, page)
    await start(handover)
    expect(await outcomeOf(finish(handover, { ...DETAIL, ...change }))).toEqual([400, 'invalid_request'])
  })

  test.each(['[]', '"text"', 'null', '{', ''])('the body %j is invalid_request', async (body) => {
    expect(await outcomeOf(callAs(server, api, 'start', body))).toEqual([400, 'invalid_request'])
  })

  test('needs the credentials of a resource server, before the body is read', async () => {
    const handover = await leave(browser, page)
    for (const caller of [undefined, client, { ...api, clientSecret: 'wrong' }]) {
      const answer = await callAs(server, caller, 'start', { handover })
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client'])
    }
    const large = await callAs(server, undefined, 'start', 'x'.repeat(40_000))
    expect(large.statusCode).toBe(401)
    expect(await outcomeOf(start(handover))).toEqual(OK)
  })
})

describe('a choice', () => {
  test('counts only for the browser, session and request that it was made for', async () => {
    await chooseAtApi({ server, api, browser }, await leave(browser, page))
    const again = await browser.open(authorizeUrl(client.clientId, { scope: SELECTED }))
    expect(visibleText(again.body)).toContain('Nothing chosen yet')
    const bob = await signedInBrowser(server, 'bob')
    const stolen = await bob.open(page.url)
    expect(visibleText(stolen.body)).toContain('Nothing chosen yet')
    expect(handoverIn(await bob.submitOnly(stolen, { decision: 'allow' }))).toMatch(/^.{43}$/)
  })

  test("does not reach another client's request of the same user", async () => {
    const other = await server.createClient({ requiredScopes: [SELECTED] })
    const handover = await leave(browser, page)
    const back = await chooseAtApi({ server, api, browser }, handover)
    const swapped = await browser.open(back.url.replace(client.clientId, other.clientId))
    expect(visibleText(swapped.body)).toContain('Nothing chosen yet')
  })

  test("of another user's hand-over changes nothing for the user who opened it", async () => {
    const bob = await signedInBrowser(server, 'bob')
    const bobPage = await bob.open(authorizeUrl(client.clientId, { scope: SELECTED }))
    // Alice opens an address that Bob sent her: what is chosen is for Bob, and from Bob's own files.
    const handover = await leave(bob, bobPage)
    const { sub, return_to } = (await start(handover)).json()
    await finish(handover)
    expect(sub).toBe(await userIdOf('bob'))
    expect(visibleText((await browser.open(return_to)).body)).toContain('Nothing chosen yet')
    expect(visibleText((await bob.open(return_to)).body)).toContain('12 photos')
  })

  test('that changed after the page was shown makes the form outdated: the user is asked again', async () => {
    const handover = await leave(browser, page)
    const back = await chooseAtApi({ server, api, browser }, handover)
    await finish(handover, { ...DETAIL, identifier: 'sel_2', summary: '900 files' })
    const answer = await browser.submitOnly(back, { decision: 'allow' })
    expect(String(answer.headers.location)).toContain('/oauth/authorize?')
    expect(responseParameters(answer)).not.toHaveProperty('code')
  })

  test('whose summary alone changed makes it outdated, too', async () => {
    const handover = await leave(browser, page)
    const back = await chooseAtApi({ server, api, browser }, handover)
    await finish(handover, { ...DETAIL, summary: '13 photos' })
    const answer = await browser.submitOnly(back, { decision: 'allow' })
    expect(responseParameters(answer)).not.toHaveProperty('code')
  })

  test('is sent twice by the form: one decision, one code', async () => {
    const back = await chooseAtApi({ server, api, browser }, await leave(browser, page))
    const answers = await Promise.all([1, 2].map(() => browser.submitOnly(back, { decision: 'allow' })))
    const codes = new Set(answers.map((answer) => responseParameters(answer).code))
    expect(codes.size).toBe(1)
    const tokens = pairOf(await exchange(server, client, [...codes][0] ?? ''))
    expect(await detailsOf(server, api, tokens)).toMatchObject({ authorization_details: [{ identifier: 'sel_1' }] })
  })

  test.each(['allow', 'deny'])('cannot be made after %s', async (decision) => {
    const handover = await leave(browser, page)
    const back = await chooseAtApi({ server, api, browser }, handover)
    const second = await leave(browser, back)
    await browser.submitOnly(back, { decision })
    expect(await outcomeOf(finish(handover, { ...DETAIL, identifier: 'sel_2' }))).toEqual(UNKNOWN)
    expect(await outcomeOf(start(second))).toEqual(UNKNOWN)
  })

  test('needs the form of this page: a foreign or old form leads nowhere', async () => {
    const foreign = await browser.submitOnly(page, { decision: 'choose' }, { origin: 'https://evil.example' })
    expect(foreign.statusCode).toBe(403)
    const outdated = await browser.submitOnly(page, { decision: 'choose', question: 'old' })
    expect(String(outdated.headers.location)).toContain('/oauth/authorize?')
    const stale = await browser.submitOnly(page, { decision: 'choose', csrf_token: 'wrong' })
    expect(String(stale.headers.location)).toContain('/oauth/authorize?')
  })

  test('cannot be asked for by a form of a request without a scope that selects', async () => {
    const reader = await server.createClient()
    const plain = await browser.open(authorizeUrl(reader.clientId))
    const answer = await browser.submitOnly(plain, { decision: 'choose' })
    expect(String(answer.headers.location)).toContain('/oauth/authorize?')
  })
})

async function userIdOf(username: string): Promise<string | undefined> {
  const text = 'select user_id from users where username = $1'
  const [row] = await server.database.query<{ user_id: string }>({ name: '', text, values: [username] })
  return row?.user_id
}
