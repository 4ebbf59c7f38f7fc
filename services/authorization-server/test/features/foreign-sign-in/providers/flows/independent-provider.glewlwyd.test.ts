import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import type { Browser } from '../../../../support/browser.js'
import { authorizeUrl } from '../../../../support/flow.js'
import { GLEWLWYD, type Glewlwyd, leaveGlewlwyd, startGlewlwyd, visitGlewlwyd } from '../../../../support/glewlwyd.js'
import { collectLog } from '../../../../support/log-lines.js'
import { type LogoutBridge, startLogoutBridge } from '../../../../support/logout-bridge.js'
import { signOut } from '../../../../support/pages.js'
import { providerSetting, providersSetting, signedInUser } from '../../../../support/provider-sign-in.js'
import { createUpstreamVisitor } from '../../../../support/upstream-visitor.js'

const SIGNED_OUT = `${ISSUER}/login?done=signed_out`

describe('sign-in with Glewlwyd, a provider of other authors', () => {
  let glewlwyd: Glewlwyd
  let server: TestServer
  let client: Credentials
  let bridge: LogoutBridge

  const settingsWith = (change: Record<string, unknown> = {}) => {
    const credentials = { client_id: GLEWLWYD.clientId, client_secret: GLEWLWYD.clientSecret }
    return providersSetting(providerSetting(glewlwyd, { id: 'glewlwyd', ...credentials, ...change }))
  }

  beforeAll(async () => {
    bridge = await startLogoutBridge('/login/with/glewlwyd/logout', () => server)
    glewlwyd = await startGlewlwyd({
      redirectUri: `${ISSUER}/login/with/glewlwyd/callback`,
      postLogoutRedirectUri: SIGNED_OUT,
      backChannelLogoutUri: bridge.url
    })
    server = await startTestServer(settingsWith())
    client = await server.createClient()
  })

  afterAll(async () => {
    await server?.close()
    await glewlwyd?.close()
    await bridge?.close()
  })

  async function signIn(browser: Browser, { query = '', visitor = createUpstreamVisitor() } = {}) {
    const start = await browser.get(`${ISSUER}/login/with/glewlwyd${query}`)
    const back = await visitGlewlwyd(glewlwyd, String(start.headers.location), visitor)
    return browser.open(back.url)
  }

  test('goes from the app to the consent page, creates the user, and finds it again', async () => {
    const query = new URL(authorizeUrl(client.clientId)).search
    for (const browser of [server.newBrowser(), server.newBrowser()]) {
      expect((await signIn(browser, { query })).body).toContain('<bdi>berta</bdi>')
      expect(await signedInUser(browser)).toBe('berta')
    }
  })

  test('ID tokens signed with RS512 sign the user in', async () => {
    const other = await startTestServer(settingsWith({ issuer: glewlwyd.rs512Issuer }))
    try {
      const browser = other.newBrowser()
      await signIn(browser)
      expect(await signedInUser(browser)).toBe('berta')
    } finally {
      await other.close()
    }
  })

  test('RP-initiated logout signs out here and there; its logout token of draft 6 ends nothing else (Back-Channel Logout §2.4)', async () => {
    const visitor = createUpstreamVisitor()
    const [browser, same, other] = [server.newBrowser(), server.newBrowser(), server.newBrowser()]
    for (const each of [browser, same]) await signIn(each, { visitor })
    await signIn(other)
    const left = await signOut(browser, { at_provider: 'on' })
    const url = String(left.headers.location)
    expect(url).toMatch(`${glewlwyd.issuer}/end_session?`)
    const back = await leaveGlewlwyd(glewlwyd, url, visitor)
    expect(back.url).toBe(SIGNED_OUT)
    // Glewlwyd sends the token after its response. It has no exp, and the type of an ID token.
    while (bridge.statuses.length === 0) await sleep(20)
    expect(bridge.statuses).toEqual([400])
    const users = await Promise.all([browser, same, other].map((each) => signedInUser(each)))
    expect(users).toEqual([undefined, 'berta', 'berta'])
  })

  test.each([
    {
      name: 'a wrong client secret',
      change: () => ({ client_secret: 'AnotherSecret' }),
      reason: 'unauthorized_client'
    },
    {
      name: 'ID tokens signed with a shared secret (HS256)',
      change: () => ({ issuer: glewlwyd.hs256Issuer }),
      reason: 'wrong_alg'
    }
  ])(
    '$name: no user is signed in, and the page says that the provider is set up wrongly',
    async ({ change, reason }) => {
      const log = collectLog()
      const wrong = await startTestServer(settingsWith(change()), log.logger)
      try {
        const browser = wrong.newBrowser()
        const page = await signIn(browser)
        expect([page.statusCode, await signedInUser(browser)]).toEqual([500, undefined])
        expect(log.lines).toContainEqual(
          expect.objectContaining({ event: 'provider_failed', provider: 'glewlwyd', reason })
        )
      } finally {
        await wrong.close()
      }
    }
  )
})
