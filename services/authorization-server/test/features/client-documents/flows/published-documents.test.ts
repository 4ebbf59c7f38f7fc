import { expect, test } from '@jest/globals'
import { AUDIENCE } from '../../../support/authorization-server.js'
import { sendJson } from '../../../support/document-server.js'
import { introspect } from '../../../support/flow.js'
import { assertionForm, createSigningKey } from '../../client-keys/support/assertions.js'
import { codeFor, exchangeWith, refreshWith, useDiscovery } from '../support/discovery.js'
import { keySetOf, PUBLISHED_APPS } from '../support/published-documents.js'

const world = useDiscovery()

test.each(PUBLISHED_APPS.map((app, index) => ({ ...app, path: `/published/${index}` })))(
  'The app reaches a token and a refresh: $name',
  async ({ document, redirectUri, signs, path }) => {
    const { server, documents } = world
    const key = await createSigningKey(signs === 'none' ? 'RS256' : signs, 'cimd-20260428030119')
    const jwks = keySetOf(key)
    documents.respond(`${path}/jwks.json`, sendJson(jwks))
    const clientId = documents.publish(path, document({ jwksUri: documents.urlOf(`${path}/jwks.json`), jwks }))
    const credentials = () =>
      signs === 'none' ? Promise.resolve({ client_id: clientId }) : assertionForm(key, clientId)

    const code = await codeFor(world, clientId, { redirect_uri: redirectUri })
    const exchanged = await exchangeWith(world, code, await credentials(), redirectUri)
    expect([exchanged.statusCode, exchanged.json()]).toEqual([200, expect.objectContaining({ token_type: 'Bearer' })])
    const { access_token: accessToken, refresh_token: refreshToken } = exchanged.json()
    const caller = await server.createResourceServer()
    const active = { active: true, client_id: clientId, aud: AUDIENCE }
    expect((await introspect(server, caller, accessToken)).json()).toMatchObject(active)
    expect((await refreshWith(world, refreshToken, await credentials())).statusCode).toBe(200)
    // The token endpoint fetched neither the document nor the keys.
    expect(documents.requests.filter((requested) => requested.startsWith(path)).length).toBeLessThanOrEqual(2)
  }
)
