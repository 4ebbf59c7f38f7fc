import { expect, test } from '@jest/globals'
import { exchangeOf, openRequest, tokensFor, useDiscovery } from '../../support/discovery.js'
import { post, responseParameters } from '../../support/flow.js'
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

test('a scope that an operator marks as not discoverable is lost: a grant for it only ends, others keep the rest', async () => {
  await world.server.createScope('notes.share', { isDiscoverable: true })
  const clientId = world.documents.publish('/refresh/lost')
  const obtain = async (scope: string) => {
    const { browser, page } = await openRequest(world, clientId, { scope })
    const ticked = { 'scope.notes.read': 'on', 'scope.notes.share': 'on' }
    const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow', ...ticked }))
    return (await exchangeOf(world, clientId, code)).json().refresh_token
  }
  const [both, one] = [await obtain('notes.read notes.share'), await obtain('notes.share')]
  const text = `update scopes set is_discoverable = false where name = 'notes.share'`
  await world.server.database.query({ name: 'test_hide_scope', text, values: [] })
  const form = { grant_type: 'refresh_token', client_id: clientId }
  expect((await post(world.server, '/token', { ...form, refresh_token: both })).json()).toMatchObject({
    scope: 'notes.read'
  })
  expect((await post(world.server, '/token', { ...form, refresh_token: one })).json().error).toBe('invalid_grant')
})

test('offline_access of a refresh is invalid_scope for a registered client', async () => {
  const client = await createPublicClient(world.server)
  const { refresh_token: refreshToken } = await obtainTokens(world.server, client)
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: client.clientId }
  const answer = await post(world.server, '/token', { ...form, scope: 'files.read offline_access' })
  expect(answer.json()).toMatchObject({ error: 'invalid_scope' })
})
