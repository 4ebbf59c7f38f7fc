import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createAuthTimeStore } from '../../../../src/features/auth-time/auth-time-store.js'
import { NOTE } from '../../../support/audit-note.js'
import { type Credentials, startTestServer, type TestServer, until } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { authorizeUrl, basic, exchange, PASSWORD, refresh, responseParameters } from '../../../support/flow.js'
import { openConsent } from '../../../support/pages.js'
import { sessionHashOf } from '../../../support/sessions.js'
import { introspectionOf, pairOf, type Tokens } from '../../../support/tokens.js'

const clock = stopClock()
let server: TestServer
let api: Credentials

beforeAll(async () => {
  server = await startTestServer()
  api = await server.createResourceServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})
// The limits of sign-ins are in Redis.
afterEach(() => server.redis.flushdb())

async function mark(isMarked: boolean): Promise<void> {
  await createAuthTimeStore(server.database).set(api.clientId, isMarked, NOTE)
  await until(async () => {
    const apis = await server.deps.authorize.resourceServers.listApis()
    return apis.some(({ sendsAuthTime }) => sendsAuthTime === true) === isMarked
  })
}

describe('auth_time of introspection (RFC 9470 §6.2)', () => {
  let client: Credentials
  let username: string
  let browser: Browser
  let signedInAt: number

  beforeEach(async () => {
    await mark(true)
    username = `user-${Math.random()}`
    await server.createUser(username, PASSWORD)
    client = await server.createClient({ consent: 'remember' })
    signedInAt = seconds()
  })

  const seconds = () => Math.floor(clock.now().getTime() / 1000)
  const introspected = ({ access_token }: Tokens) => introspectionOf(server, api, access_token)

  async function exchanged(location: Awaited<ReturnType<Browser['get']>>): Promise<Tokens> {
    return pairOf(await exchange(server, client, responseParameters(location).code ?? ''))
  }

  /** Signs in and opens the consent page. */
  async function openPage(): Promise<Page> {
    const opened = await openConsent(server, client.clientId, { username })
    browser = opened.browser
    return opened.page
  }

  /** Signs in, waits a while on the consent page, and allows. */
  async function allow(): Promise<Tokens> {
    const page = await openPage()
    clock.advance(20)
    return exchanged(await browser.submitOnly(page, { decision: 'allow' }))
  }

  test('is the time of the sign-in, and not that of Allow or of the exchange', async () => {
    expect(await introspected(await allow())).toMatchObject({
      active: true,
      auth_time: signedInAt,
      iat: signedInAt + 20
    })
  })

  test('is in the response for several tokens', async () => {
    const { access_token: token } = await allow()
    const answer = await server.internalServer.inject({
      method: 'POST',
      url: '/introspections',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(api) },
      payload: `tokens=${token}+${token}`
    })
    expect(answer.json()).toMatchObject([{ auth_time: signedInAt }, { auth_time: signedInAt }])
  })

  test('with a remembered consent is the time of the sign-in of this session', async () => {
    await allow()
    clock.advance(500)
    const remembered = await exchanged(await browser.get(authorizeUrl(client.clientId, { prompt: 'none' })))
    expect(await introspected(remembered)).toMatchObject({ auth_time: signedInAt })
  })

  test('is renewed by a new sign-in, with max_age', async () => {
    const before = await allow()
    clock.advance(500)
    const form = await browser.open(authorizeUrl(client.clientId, { max_age: '300' }))
    const after = await exchanged(await browser.submit(form, { username, password: PASSWORD }))
    expect(await introspected(after)).toMatchObject({ auth_time: signedInAt + 520 })
    // The token from before says what it said.
    expect(await introspected(before)).toMatchObject({ auth_time: signedInAt })
  })

  test('is not renewed by a refresh, also after a new sign-in of the same user', async () => {
    const first = await allow()
    clock.advance(500)
    const form = await browser.open(authorizeUrl(client.clientId, { prompt: 'login', state: 'other' }))
    await browser.submit(form, { username, password: PASSWORD })
    const second = pairOf(await refresh(server, client, first.refresh_token)) as Tokens
    clock.advance(500)
    const third = pairOf(await refresh(server, client, second.refresh_token)) as Tokens
    expect(await introspected(third)).toMatchObject({ active: true, auth_time: signedInAt, iat: seconds() })
  })

  test('is absent if the way to sign in does not say when the user signed in', async () => {
    const page = await openPage()
    await server.database.query({
      name: 'test_forget_authentication',
      text: 'update sessions set authenticated_at = null where session_hash = $1',
      values: [Buffer.from(sessionHashOf(browser), 'base64url')]
    })
    const tokens = await exchanged(await browser.submitOnly(page, { decision: 'allow' }))
    expect(await introspected(tokens)).not.toHaveProperty('auth_time')
  })

  test('is absent, and not stored, for an API that does not ask for it', async () => {
    await mark(false)
    const tokens = await allow()
    const answer = await introspected(tokens)
    expect(answer.active).toBe(true)
    expect(answer).not.toHaveProperty('auth_time')
    const text = 'select authenticated_at from grants where client_id = $1'
    const rows = await server.database.query({ name: 'test_grants', text, values: [client.clientId] })
    expect(rows).toEqual([{ authenticated_at: null }])
    // Marked later: what users have allowed before does not change.
    await mark(true)
    const refreshed = pairOf(await refresh(server, client, tokens.refresh_token)) as Tokens
    expect(await introspected(refreshed)).not.toHaveProperty('auth_time')
  })
})
