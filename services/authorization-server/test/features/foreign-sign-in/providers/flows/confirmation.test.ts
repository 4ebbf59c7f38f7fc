import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import type { Browser } from '../../../../support/browser.js'
import { type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith
} from '../../../../support/provider-sign-in.js'

describe('confirmation with a provider before a change of the account', () => {
  let provider: ForgingProvider
  let server: TestServer

  beforeAll(async () => {
    provider = await startForgingProvider()
    server = await startTestServer(providersSetting(providerSetting(provider)))
  })

  afterEach(() => provider.signs({}))

  afterAll(async () => {
    await server?.close()
    await provider?.close()
  })

  const now = () => Math.floor(Date.now() / 1000)

  /** A user whose last authentication is too old, on the way to a page of the account. */
  async function arriveOld(): Promise<Browser> {
    const browser = server.newBrowser()
    await signInWith(provider, browser, { claims: { preferred_username: 'old', auth_time: now() - 3_600 } })
    return browser
  }

  async function confirm(browser: Browser, claims: Record<string, unknown>) {
    const { state, nonce } = await depart(browser, 'page=password')
    provider.signs({ claims: { nonce, preferred_username: 'old', ...claims } })
    return browser.get(callbackUrl({ code: 'c', state }))
  }

  test('requests a new sign-in with prompt=login and max_age=0', async () => {
    const { parameters } = await depart(await arriveOld(), 'page=password')
    expect([parameters.get('prompt'), parameters.get('max_age')]).toEqual(['login', '0'])
  })

  test('leads to the page if the provider says that the user has just signed in', async () => {
    const browser = await arriveOld()
    const page = await confirm(browser, { auth_time: now() - 200 })
    expect([page.statusCode, page.headers.location]).toEqual([303, `${ISSUER}/account/password`])
  })

  test('leads to the page also if auth_time is text', async () => {
    const page = await confirm(await arriveOld(), { auth_time: String(now() - 200) })
    expect([page.statusCode, page.headers.location]).toEqual([303, `${ISSUER}/account/password`])
  })

  test.each([
    { name: 'without auth_time', claims: {} },
    { name: 'with auth_time as text, yesterday', claims: { auth_time: '1000000000' } },
    { name: 'with auth_time that is no time', claims: { auth_time: 'now' } },
    { name: 'with auth_time 331 s ago', claims: { auth_time: Math.floor(Date.now() / 1000) - 331 } },
    { name: 'with auth_time yesterday, because the provider ignores prompt', claims: { auth_time: 1_000_000_000 } }
  ])('$name is refused, and its page leads back to the confirmation', async ({ claims }) => {
    const browser = await arriveOld()
    const page = await confirm(browser, claims)
    expect(page.statusCode).toBe(403)
    expect(page.body).toContain('did not confirm')
    expect(page.body).toContain(`href="${ISSUER}/login/with/forger?page&#x3D;password"`)
    expect(await signedInUser(browser)).toBe('old')
  })

  test('with auth_time in the future is refused, so that a wrong clock makes no session fresh for longer', async () => {
    const page = await confirm(await arriveOld(), { auth_time: now() + 3_600 })
    expect(page.statusCode).toBe(500)
  })

  test('never creates a user', async () => {
    const page = await confirm(await arriveOld(), { sub: 'not-linked-yet', auth_time: now() })
    expect([page.statusCode, page.body]).toEqual([403, expect.stringContaining('No account here')])
  })
})
