import { describe, expect, test } from '@jest/globals'
import { auditRows } from '../../support/audit-rows.js'
import { startTestServer } from '../../support/authorization-server.js'
import { requestOf, tokensFor, useDiscovery } from '../../support/discovery.js'
import { visibleText } from '../../support/page-content.js'

const world = useDiscovery({ CLIENT_ID_METADATA: 'listed', CLIENT_ID_METADATA_ALLOW: 'boat.example localhost' })

describe('CLIENT_ID_METADATA=listed', () => {
  test('a listed host works', async () => {
    expect((await tokensFor(world, world.documents.publish('/listed'))).statusCode).toBe(200)
  })

  test('another host is refused before sign-in, without a fetch, and audited', async () => {
    const clientId = 'https://evil.example/client.json'
    const answer = await world.server.newBrowser().get(requestOf(clientId))
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined])
    expect(visibleText(answer.body)).toContain('This app is not allowed here')
    const rows = (await auditRows(world.server)).filter((row) => row.client_id === clientId)
    expect(rows).toEqual([expect.objectContaining({ details: { reason: 'client_id_not_allowed' } })])
  })
})

describe('CLIENT_ID_METADATA=off', () => {
  test('a client id URL is unknown, and the metadata says nothing', async () => {
    const server = await startTestServer()
    const answer = await server.newBrowser().get(requestOf('https://boat.example/client.json'))
    expect([answer.statusCode, visibleText(answer.body)]).toEqual([400, expect.stringContaining('not known here')])
    const metadata = await server.publicServer.inject('/.well-known/oauth-authorization-server')
    expect(metadata.json()).not.toHaveProperty('client_id_metadata_document_supported')
    await server.close()
  })
})

describe('a registered client with a URL as its id', () => {
  test('has priority: nothing is fetched, and its registered scopes count', async () => {
    const clientId = world.documents.publish('/registered-url')
    await world.server.createClient({
      clientId,
      type: 'public',
      requiresPkce: true,
      redirectUris: ['https://boat.example/callback']
    })
    const before = world.documents.requests.length
    const answer = await tokensFor(world, clientId, { scope: 'files.read' })
    expect(answer.json()).toMatchObject({ scope: 'files.read' })
    expect(world.documents.requests).toHaveLength(before)
  })
})
