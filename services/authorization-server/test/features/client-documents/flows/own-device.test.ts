import { expect, test } from '@jest/globals'
import { visibleText } from '../../../support/page-content.js'
import { openRequest, useDiscovery } from '../support/discovery.js'

const world = useDiscovery()

test.each(['https://localhost/cb', 'https://127.0.0.1/cb', 'https://[::1]/cb', 'http://127.0.0.1/cb'])(
  'the consent page of a discovered client with the redirect URI %s warns of other programs on the device',
  async (redirectUri) => {
    const path = `/on-device/${Buffer.from(redirectUri).toString('hex')}`
    const clientId = world.documents.publish(path, { redirect_uris: [redirectUri] })
    const { page } = await openRequest(world, clientId, { redirect_uri: redirectUri })
    expect(visibleText(page.body)).toContain('Any program here can pretend to be this app.')
  }
)
