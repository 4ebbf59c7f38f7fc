import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD } from '../../support/flow.js'
import { otherAddressesOn, visibleText } from '../../support/page-content.js'
import { postTo, signedInBrowser } from '../../support/pages.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

describe.each([
  { who: 'a browser with a session', start: () => signedInBrowser(server) },
  { who: 'a browser without a session', start: async () => server.newBrowser() }
])('the consent page without a request in its address, for $who', ({ start }) => {
  test.each(['/consent', '/consent?state=mine&resume=x'])('%s explains what to do', async (address) => {
    const browser = await start()
    const shown = await browser.get(`${ISSUER}${address}`)
    const sent = await postTo(server, browser, address, 'decision=allow', { origin: ISSUER })
    for (const { statusCode, body } of [shown, sent]) {
      expect(statusCode).toBe(400)
      expect(visibleText(body)).toContain('Go back to the app you came from and start again there.')
      // The app is unknown, so there is nothing to link to.
      expect(otherAddressesOn(body)).toEqual([])
    }
  })
})
