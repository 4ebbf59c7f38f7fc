import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { createDiscoveredClientStore } from '../../../../src/features/client-documents/discovered-client-store.js'
import type { ClientRegistration } from '../../../../src/storage/postgres/clients.js'
import { startAdministration } from '../../../support/administration.js'
import { NOTE } from '../../../support/audit-note.js'
import { startTestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'

describe('clients that describe themselves', () => {
  const CLIENT_ID = `https://app.example/${'a'.repeat(480)}`

  let opened: MigratedDatabase

  beforeAll(async () => {
    opened = await createMigratedDatabase()
    const client = {
      clientId: CLIENT_ID,
      name: 'Paper Boat',
      type: 'public',
      redirectUris: ['https://boat.example/callback'],
      requiredScopes: [],
      optionalScopes: ['notes.read'],
      requiresPkce: true,
      issuesRefreshTokens: true,
      consent: 'ask',
      lifetimes: { accessToken: undefined, refreshTokenIdle: undefined, refreshTokenMax: 1_209_600 },
      isDiscovered: true,
      disabled: false,
      verified: false,
      branding: {}
    } as const
    await createDiscoveredClientStore(opened.database).create(client, NOTE)
  })
  afterAll(() => opened.close())

  const run = (...args: string[]) => runCommand(opened.database, args)

  async function listed(...args: string[]): Promise<{ client_id: string; origin: string }[]> {
    return JSON.parse((await run('clients', 'list', ...args, '--json')).out).clients
  }

  test('clients list --discovered shows only clients that no operator registered', async () => {
    const registration = [
      '--name',
      'Photo Printer',
      '--redirect-uri',
      'https://app.example/cb',
      '--scope',
      'files.read'
    ]
    await run('clients', 'create', ...registration)
    expect(await listed()).toHaveLength(2)
    expect(await listed('--discovered')).toEqual([
      expect.objectContaining({ client_id: CLIENT_ID, origin: 'discovered', refresh_token_max_ttl: 1_209_600 })
    ])
  })

  test('clients show, disable, enable, and grants revoke take the URL', async () => {
    for (const args of [
      ['clients', 'show', CLIENT_ID],
      ['clients', 'disable', CLIENT_ID, '--yes'],
      ['clients', 'enable', CLIENT_ID],
      ['grants', 'revoke', '--client', CLIENT_ID, '--yes'],
      ['grants', 'list', '--client', CLIENT_ID],
      ['audit', 'tail', '--client', CLIENT_ID]
    ]) {
      expect((await run(...args)).code).toBe(0)
    }
  })

  test('clients update refuses: the document describes the client', async () => {
    const { code, said } = await run('clients', 'update', CLIENT_ID, '--name', 'Another')
    expect([code, said]).toEqual([4, expect.stringContaining('its metadata document describes it')])
  })

  test('clients delete removes the row', async () => {
    expect((await run('clients', 'delete', CLIENT_ID, '--yes')).code).toBe(0)
    expect(await listed('--discovered')).toEqual([])
  })
})

test('PUT of the logo of a discovered client is 409', async () => {
  const server = await startTestServer()
  try {
    const admin = await startAdministration(server)
    const { clientId } = await server.createClient()
    const registered = (await server.deps.admin.clients.clients.find(clientId)) as ClientRegistration
    const url = 'https://boat.example/client.json'
    await createDiscoveredClientStore(server.database).create({ ...registered, clientId: url }, NOTE)
    const logo = await sharp({ create: { width: 40, height: 10, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    const path = `/clients/${encodeURIComponent(url)}/logo`
    expect((await admin.call('PUT', path, logo, { 'content-type': 'image/png' })).statusCode).toBe(409)
  } finally {
    await server.close()
  }
})
