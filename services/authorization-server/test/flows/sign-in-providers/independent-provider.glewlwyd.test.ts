import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl } from '../../support/flow.js'
import { GLEWLWYD, type Glewlwyd, startGlewlwyd, visitGlewlwyd } from '../../support/glewlwyd.js'
import { providerSetting, providersSetting, signedInUser } from '../../support/provider-sign-in.js'

describe('sign-in with Glewlwyd, a provider of other authors', () => {
  let glewlwyd: Glewlwyd
  let server: TestServer
  let client: Credentials

  beforeAll(async () => {
    glewlwyd = await startGlewlwyd(`${ISSUER}/login/with/glewlwyd/callback`)
    const credentials = { client_id: GLEWLWYD.clientId, client_secret: GLEWLWYD.clientSecret }
    server = await startTestServer(providersSetting(providerSetting(glewlwyd, { id: 'glewlwyd', ...credentials })))
    client = await server.createClient()
  })

  afterAll(async () => {
    await server?.close()
    await glewlwyd?.close()
  })

  test('goes from the app to the consent page, creates the user, and finds it again', async () => {
    const query = new URL(authorizeUrl(client.clientId)).search
    for (const browser of [server.newBrowser(), server.newBrowser()]) {
      const start = await browser.get(`${ISSUER}/login/with/glewlwyd${query}`)
      const back = await visitGlewlwyd(glewlwyd, String(start.headers.location))
      expect((await browser.open(back.url)).body).toContain('<bdi>berta</bdi>')
      expect(await signedInUser(browser)).toBe('berta')
    }
  })
})
