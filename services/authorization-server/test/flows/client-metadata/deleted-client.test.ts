import { expect, test } from '@jest/globals'
import { startAdministration } from '../../support/administration.js'
import { REDIRECT_URI, until } from '../../support/authorization-server.js'
import { PKCE } from '../../support/codes.js'
import { runCommand } from '../../support/command-line.js'
import { codeFor, exchangeOf, refreshOf, tokensFor, useDiscovery } from '../../support/discovery.js'
import { introspect, obtainCode } from '../../support/flow.js'
import { createPublicClient, isActive, obtainTokens } from '../../support/tokens.js'

const world = useDiscovery()

test('a discovered client that an operator deleted and a user allows again: its earlier tokens stay ended', async () => {
  const { server, documents } = world
  const clientId = documents.publish('/deleted')
  const before = (await tokensFor(world, clientId)).json()
  const admin = await startAdministration(server)
  expect((await admin.call('DELETE', `/clients/${encodeURIComponent(clientId)}`)).statusCode).toBe(200)
  await until(async () => (await server.deps.authorize.validation.clients.find(clientId)) === undefined)

  const after = (await tokensFor(world, clientId)).json()
  const caller = await server.createResourceServer()
  expect((await introspect(server, caller, before.access_token)).json()).toEqual({ active: false })
  expect((await refreshOf(world, clientId, before.refresh_token)).json().error).toBe('invalid_grant')
  expect((await introspect(server, caller, after.access_token)).json()).toMatchObject({ active: true })
  expect((await refreshOf(world, clientId, after.refresh_token)).statusCode).toBe(200)
})

test('a code from before the deletion of a discovered client is invalid_grant after a user allows the client again', async () => {
  const { server, documents } = world
  const clientId = documents.publish('/deleted-before-exchange')
  const before = await codeFor(world, clientId)
  await runCommand(server.database, ['clients', 'delete', clientId, '--yes'])
  await until(async () => (await server.deps.authorize.validation.clients.find(clientId)) === undefined)

  const after = await codeFor(world, clientId)
  expect((await exchangeOf(world, clientId, before)).json().error).toBe('invalid_grant')
  expect((await exchangeOf(world, clientId, after)).statusCode).toBe(200)
})

async function deleteAndCreate(clientId: string): Promise<void> {
  const { server } = world
  await runCommand(server.database, ['clients', 'delete', clientId, '--yes'])
  const settings = ['--public', '--name', 'Again', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
  const created = ['clients', 'create', ...settings, '--client-id', clientId]
  expect(await runCommand(server.database, created)).toMatchObject({ code: 0, said: '' })
  await until(async () => (await server.deps.authorize.validation.clients.find(clientId))?.name === 'Again')
}

test('a code from before the deletion of a registered client is invalid_grant after the client is created again', async () => {
  const client = await createPublicClient(world.server)
  const code = await obtainCode(world.server, client, { change: PKCE })
  await deleteAndCreate(client.clientId)
  expect((await exchangeOf(world, client.clientId, code, REDIRECT_URI)).json().error).toBe('invalid_grant')
})

test('a registered client that is deleted and created again under its id: its earlier tokens stay ended', async () => {
  const { server } = world
  const client = await createPublicClient(server)
  const before = await obtainTokens(server, client)
  await deleteAndCreate(client.clientId)

  const caller = await server.createResourceServer()
  expect(await isActive(server, caller, before.access_token)).toBe(false)
  expect((await refreshOf(world, client.clientId, before.refresh_token)).statusCode).toBe(400)
  const after = await obtainTokens(server, client)
  expect(await isActive(server, caller, after.access_token)).toBe(true)
})
