import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { secretIdOf } from '@valetkey/oauth-protocol'
import { nameKey } from '../../../src/platform/developer-apps/name-key.js'
import { type ClientChangeStore, createClientChangeStore } from '../../../src/storage/postgres/client-changes.js'
import {
  type ClientSecretStore,
  clientSecretKey,
  createClientSecretStore
} from '../../../src/storage/postgres/client-secrets.js'
import { createResourceServerStore } from '../../../src/storage/postgres/resource-servers.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash } from '../../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

let opened: MigratedDatabase
let secrets: ClientSecretStore
let changes: ClientChangeStore
let clientId: string
const hash = newHash()
const key = () => clientSecretKey(clientId, secretIdOf(hash))

beforeAll(async () => {
  opened = await createMigratedDatabase()
  const database = atTime(opened.database, NOW)
  secrets = createClientSecretStore(database)
  changes = createClientChangeStore(database, nameKey)
})
beforeEach(async () => {
  clientId = randomUUID()
  const client = {
    clientId,
    name: 'App',
    type: 'confidential',
    redirectUris: ['https://app.example/'],
    requiredScopes: ['files.read'],
    optionalScopes: [],
    requiresPkce: false,
    issuesRefreshTokens: true,
    consent: 'ask',
    disabled: false,
    verified: false,
    branding: {}
  } as const
  await changes.create(client, hash, NOTE)
})
afterAll(() => opened.close())

const lastUse = async () => (await secrets.list(clientId))[0]?.lastUsedAt

describe('the last use of a secret', () => {
  test('is stored, and an earlier one changes nothing', async () => {
    expect(await lastUse()).toBeUndefined()
    await secrets.noteUse(new Map([[key(), after(-5)]]))
    expect(await lastUse()).toEqual(after(-5))
    await secrets.noteUse(new Map([[key(), after(-10)]]))
    expect(await lastUse()).toEqual(after(-5))
  })

  test('is not stored for another client with the same secret, or for an unknown secret', async () => {
    await secrets.noteUse(
      new Map([
        [clientSecretKey(randomUUID(), secretIdOf(hash)), NOW],
        [clientSecretKey(clientId, '000000000000'), NOW]
      ])
    )
    expect(await lastUse()).toBeUndefined()
  })

  test('two processes that store many in opposite orders cause no deadlock', async () => {
    const added = Array.from({ length: 50 }, newHash)
    for (const each of added) {
      await opened.run('insert into client_secrets (client_id, secret_hash, created_at) values ($1, $2, $3)', [
        clientId,
        each,
        NOW
      ])
    }
    const uses = added.map((each) => [clientSecretKey(clientId, secretIdOf(each)), after(-1)] as const)
    const both = [new Map(uses), new Map(uses.toReversed())]
    await Promise.all(Array.from({ length: 20 }, (_, index) => secrets.noteUse(both[index % 2] ?? new Map())))
    expect((await secrets.list(clientId)).filter(({ lastUsedAt }) => lastUsedAt !== undefined)).toHaveLength(50)
  })

  test('of a resource server is stored in the same way', async () => {
    const store = createResourceServerStore(atTime(opened.database, NOW))
    const server = { clientId: randomUUID(), name: 'files', audience: 'https://files.example' }
    await store.create(server, hash, NOTE)
    await store.noteUse(new Map([[server.clientId, after(-5)]]))
    await store.noteUse(new Map([[server.clientId, after(-10)]]))
    const found = (await store.listRegistrations()).find((each) => each.clientId === server.clientId)
    expect(found).toEqual({ ...server, createdAt: NOW, lastUsedAt: after(-5) })
  })
})

describe('a change based on an older version', () => {
  test('is refused and writes no audit entry', async () => {
    const version = (await changes.findVersion(clientId))?.version ?? ''
    const secret = () => ({ hash: newHash(), othersUntil: after(60) })
    expect(await changes.addSecret({ clientId, version }, secret(), NOTE)).toBe(true)
    const before = await secrets.list(clientId)
    const entry = { ...NOTE, event: `stale_${clientId}` }
    expect(await changes.addSecret({ clientId, version }, secret(), entry)).toBe(false)
    expect(await changes.removeSecret({ clientId, version }, secretIdOf(hash), entry)).toBe(false)
    expect(await secrets.list(clientId)).toEqual(before)
    expect(await opened.run('select 1 as one from audit_events where event = $1', [entry.event])).toEqual([])
  })

  test('a use in between does not change the version', async () => {
    const version = (await changes.findVersion(clientId))?.version ?? ''
    await secrets.noteUse(new Map([[key(), NOW]]))
    expect((await changes.findVersion(clientId))?.version).toBe(version)
  })
})
