import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import { hashId } from '../../../src/browser/session/random-id.js'
import { COOKIES, type Credentials, ISSUER, REDIRECT_URI, type TestServer } from '../../support/authorization-server.js'
import type { Page } from '../../support/browser.js'
import { authorizeUrl, exchange, responseParameters } from '../../support/flow.js'
import { startForgeryTarget } from '../../support/forgery.js'
import { openConsent, signedInBrowser } from '../../support/pages.js'

// An attacker, mallory, writes to the list of pending requests, which has no MAC.

let server: TestServer
let printer: Credentials
let album: Credentials

beforeAll(async () => {
  ;({ server, printer, album } = await startForgeryTarget())
})
afterAll(() => server.close())

const listOf = async (username: string) => {
  const text = 'select user_id from users where username = $1'
  const rows = await server.database.query<{ user_id: string }>({ name: 'test_user_id', text, values: [username] })
  return `vk:requests:{${rows[0]?.user_id}}`
}
const resumeOf = (page: Page) => new URL(page.url).searchParams.get('resume') ?? ''
const codeOf = (page: Page) =>
  page.headers.location?.startsWith(REDIRECT_URI) ? responseParameters(page).code : undefined

test('an entry copied to mallory’s list is invalid, because it is bound to browser, session and query', async () => {
  const { page } = await openConsent(server, printer.clientId)
  for (const hash of await server.redis.lrange(await listOf('alice'), 0, -1)) {
    await server.redis.lpush(await listOf('mallory'), hash)
  }
  const mallory = await signedInBrowser(server, 'mallory')
  // The consent page is shown again, for her own account.
  expect(resumeOf(await mallory.open(page.url))).not.toBe(resumeOf(page))
  expect(codeOf(await mallory.submitOnly(page, { decision: 'allow' }))).toBeUndefined()
})

test('an entry created by mallory for alice is invalid, because she does not know alice’s browser id', async () => {
  const { browser, page } = await openConsent(server, printer.clientId)
  // The hash of alice's session is in the name of its key. Only her cookie has her browser id.
  const session = hashId(browser.cookies.get(COOKIES.session) ?? '')
  const guessed = 'g'.repeat(43)
  const query = authorizeUrl(album.clientId).split('?')[1] ?? ''
  for (const browserId of ['', guessed, hashId(guessed)]) {
    await server.redis.lpush(await listOf('alice'), hashId([guessed, browserId, session, query].join('\n')))
  }
  const opened = await browser.open(`${ISSUER}/consent?${query}&resume=${guessed}`)
  // The consent page is shown again, with an id that mallory does not know.
  expect([resumeOf(page), guessed]).not.toContain(resumeOf(opened))
})

test('an entry for her own request lets mallory grant only her own access', async () => {
  const { browser, page } = await openConsent(server, album.clientId, { username: 'mallory' })
  const key = await listOf('mallory')
  const entries = await server.redis.lrange(key, 0, -1)
  expect(codeOf(await browser.submitOnly(page, { decision: 'allow' }))).toBeDefined()
  // Put back, the same form is decided again, by the user who sends it.
  await server.redis.lpush(key, ...entries)
  const code = codeOf(await browser.submitOnly(page, { decision: 'allow' })) ?? ''
  await exchange(server, album, code)
  const text = `select username from grants join users using (user_id) where code_hash = $1`
  const rows = await server.database.query({ name: 'test_user_of_code', text, values: [hashToken(code)] })
  expect(rows).toEqual([{ username: 'mallory' }])
})

test('a decision that names alice’s code gives mallory no redirect: the redirect is encrypted for alice’s form', async () => {
  const alice = await openConsent(server, printer.clientId)
  const codesBefore = await server.redis.keys('vk:code:*')
  await alice.browser.submitOnly(alice.page, { decision: 'allow' })
  const [code = ''] = (await server.redis.keys('vk:code:*')).filter((key) => !codesBefore.includes(key))
  const mallory = await openConsent(server, printer.clientId, { username: 'mallory' })
  await mallory.browser.submitOnly(mallory.page, { decision: 'deny' })
  const userId = (await listOf('mallory')).slice('vk:requests:'.length)
  const [decision = ''] = await server.redis.keys(`vk:decision:${userId}:*`)
  await server.redis.set(decision, code.slice('vk:code:'.length))
  expect(codeOf(await mallory.browser.submitOnly(mallory.page, { decision: 'allow' }))).toBeUndefined()
})
