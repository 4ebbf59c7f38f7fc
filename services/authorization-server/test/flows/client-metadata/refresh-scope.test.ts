import { expect, test } from '@jest/globals'
import { tokensFor, useDiscovery } from '../../support/discovery.js'
import { post } from '../../support/flow.js'
import { createPublicClient, obtainTokens } from '../../support/tokens.js'

const world = useDiscovery()

test.each([
  ['is dropped', 'notes.read offline_access'],
  ['alone counts as no scope', 'offline_access']
])('offline_access of a refresh %s, also in the retry window', async (_what, scope) => {
  const clientId = world.documents.publish(`/refresh/${scope.length}`)
  const { refresh_token: refreshToken } = (await tokensFor(world, clientId)).json()
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId, scope }
  const first = await post(world.server, '/token', form)
  expect(first.json()).toMatchObject({ scope: 'notes.read' })
  expect((await post(world.server, '/token', form)).json().access_token).toBe(first.json().access_token)
})

test('offline_access of a refresh is invalid_scope for a registered client', async () => {
  const client = await createPublicClient(world.server)
  const { refresh_token: refreshToken } = await obtainTokens(world.server, client)
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: client.clientId }
  const answer = await post(world.server, '/token', { ...form, scope: 'files.read offline_access' })
  expect(answer.json()).toMatchObject({ error: 'invalid_scope' })
})
