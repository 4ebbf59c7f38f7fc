import { expect, test } from '@jest/globals'
import { openRequest, useDiscovery } from '../../support/discovery.js'
import { authorizeUrl } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { signedInBrowser } from '../../support/pages.js'

const world = useDiscovery()
const WARNING = 'Any program on this device can pretend to be this app'

test.each(['https://localhost/cb', 'https://127.0.0.1/cb', 'https://[::1]/cb', 'http://127.0.0.1/cb'])(
  'the consent page of a discovered client with the redirect URI %s warns of other programs on the device',
  async (redirectUri) => {
    const path = `/on-device/${Buffer.from(redirectUri).toString('hex')}`
    const clientId = world.documents.publish(path, { redirect_uris: [redirectUri] })
    const { page } = await openRequest(world, clientId, { redirect_uri: redirectUri })
    expect(visibleText(page.body)).toContain('Any program here can pretend to be this app.')
  }
)

test.each([
  { redirectUri: 'https://localhost/cb', isWarned: true },
  { redirectUri: 'https://localhost.example/cb', isWarned: false }
])(
  'the consent page of a registered client with the redirect URI $redirectUri: warning $isWarned',
  async ({ redirectUri, isWarned }) => {
    const { clientId } = await world.server.createClient({ redirectUris: [redirectUri] })
    const browser = await signedInBrowser(world.server)
    const { body } = await browser.open(authorizeUrl(clientId, { redirect_uri: redirectUri }))
    expect(visibleText(body).includes(WARNING)).toBe(isWarned)
  }
)
