import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type JWTPayload, SignJWT } from 'jose'
import { createHttpBrowser, type HttpBrowser, type Page } from '../packages/dev-stack/lib/client/http-browser.mjs'
import {
  FORGER,
  type ForgingProvider,
  startForgingProvider
} from '../services/authorization-server/test/support/forging-provider.js'
import { type Cluster, startCluster } from './system/start-cluster.mjs'
import { pauseRedis } from './system/stores/pause-stores.mjs'

const ANSWERED_WITHIN_MS = 5_000
/** A slow machine needs more time: this many times the slowest response without a stall is added. */
const CONTROLS = 2

let cluster: Cluster
let provider: ForgingProvider
let person = 0

beforeAll(async () => {
  provider = await startForgingProvider()
  const { clientId: client_id, clientSecret: client_secret } = FORGER
  const setting = { id: 'forger', label: 'Example', issuer: provider.issuer, provisioning: 'create' }
  const SIGN_IN_PROVIDERS = JSON.stringify([{ ...setting, client_id, client_secret }])
  cluster = await startCluster({ authorizationServers: 1, settings: { SIGN_IN_PROVIDERS } })
})
beforeEach(() => {
  person += 1
})
afterAll(async () => {
  await cluster?.stop()
  await provider?.close()
})

const usernames = async ({ query }: Cluster) =>
  (await query<{ username: string }>(`select username from users where username like 'person-${person}%'`)).map(
    ({ username }) => username
  )

/** Leaves for the provider. @returns the address of the callback, and the claims of the ID token */
async function leave({ issuer }: Cluster, browser: HttpBrowser) {
  const { url } = await browser.open(`${issuer}/login/with/forger`)
  const [state, nonce] = ['state', 'nonce'].map((name) => url.searchParams.get(name) ?? '') as [string, string]
  const claims = { nonce, sub: `subject-${person}`, preferred_username: `person-${person}`, name: 'Person' }
  return { callback: `${issuer}/login/with/forger/callback?code=c&state=${state}`, claims }
}

async function openWhenBack(browser: HttpBrowser, url: string): Promise<Page> {
  let page = await browser.open(url)
  while (page.status === 503) page = await browser.open(url)
  return page
}

test.each([
  { moment: 'before the callback', isDuring: false, users: 0 },
  // The provider has answered with tokens, so the user exists; only the session is missing.
  { moment: 'while the provider answers the callback', isDuring: true, users: 1 }
])('Redis stalls $moment: 503 within 5 s, no session, and the sign-in can be repeated', async ({ isDuring, users }) => {
  const at = cluster
  let milliseconds = 0
  const browser = createHttpBrowser(at.issuer, {}, (answer) => {
    milliseconds = Math.max(milliseconds, answer.milliseconds)
  })
  const { callback, claims } = await leave(at, browser)
  const slowestMs = milliseconds
  milliseconds = 0
  let resume = isDuring ? () => {} : await pauseRedis(at)
  provider.signs({
    claims,
    sign: async (payload: JWTPayload, header: { alg: string; kid: string }) => {
      resume = await pauseRedis(at)
      return new SignJWT(payload).setProtectedHeader(header).sign(provider.privateKey)
    }
  })
  const page = await browser.open(callback).finally(() => resume())
  expect(page.status).toBe(503)
  expect(milliseconds).toBeLessThan(ANSWERED_WITHIN_MS + CONTROLS * slowestMs)
  expect(browser.cookie()).not.toContain('vk_session')
  expect(await usernames(at)).toHaveLength(users)

  // The response may have been used up while Redis stalled; then the browser comes back to the sign-in page.
  provider.signs({ claims })
  expect((await openWhenBack(browser, callback)).status).toBe(200)
  const again = createHttpBrowser(at.issuer)
  const second = await leave(at, again)
  provider.signs({ claims: second.claims })
  const account = await openWhenBack(again, second.callback)
  expect(account.html).toContain(`person-${person}`)
  expect(await usernames(at)).toEqual([`person-${person}`])
})
