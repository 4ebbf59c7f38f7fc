import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(() => server.close())

const WARNING = 'Any program on this device can pretend to be this app'

test.each([
  { redirectUri: 'https://localhost/cb', isWarned: true },
  { redirectUri: 'https://localhost.example/cb', isWarned: false }
])(
  'the consent page of a registered client with the redirect URI $redirectUri: warning $isWarned',
  async ({ redirectUri, isWarned }) => {
    const { clientId } = await server.createClient({ redirectUris: [redirectUri] })
    const browser = await signedInBrowser(server)
    const { body } = await browser.open(authorizeUrl(clientId, { redirect_uri: redirectUri }))
    expect(visibleText(body).includes(WARNING)).toBe(isWarned)
  }
)
