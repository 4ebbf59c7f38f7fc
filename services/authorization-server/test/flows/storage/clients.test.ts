import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { secretIdOf } from '@valetkey/oauth-protocol'
import { isUniqueViolation, LONG_STATEMENT_MS, type Statement } from '@valetkey/service-kit'
import { type ClientChangeStore, createClientChangeStore } from '../../../src/storage/postgres/client-changes.js'
import { type ClientLogoStore, createClientLogoStore } from '../../../src/storage/postgres/client-logos.js'
import {
  type ClientSecretStore,
  clientSecretKey,
  createClientSecretStore
} from '../../../src/storage/postgres/client-secrets.js'
import { type ClientRegistration, type ClientStore, createClientStore } from '../../../src/storage/postgres/clients.js'
import { createResourceServerStore } from '../../../src/storage/postgres/resource-servers.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash } from '../../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

describe('logos', () => {
  let logos: ClientLogoStore

  beforeAll(async () => {
    logos = createClientLogoStore(opened.database)
  })

  const HASH = 'ab'.repeat(32)
  const image = Buffer.from('image')

  test('a logo is found by its hash; the same logo twice, in parallel, is one', async () => {
    expect(await logos.find(HASH)).toBeUndefined()
    await Promise.all([1, 2, 3].map(() => logos.save({ hash: HASH, image })))
    expect(await logos.find(HASH)).toEqual({ image, isPublic: false })
    expect(await opened.run('select 1 from client_logos')).toHaveLength(1)
  })

  test.each([
    { name: 'a hash in upper case', hash: 'AB'.repeat(32), content: image },
    { name: 'a hash that is too short', hash: 'ab', content: image },
    { name: 'an image over 400,000 bytes', hash: 'cd'.repeat(32), content: Buffer.alloc(400_001) }
  ])('Postgres refuses $name', async ({ hash, content }) => {
    await expect(logos.save({ hash, image: content })).rejects.toThrow(/check constraint/)
  })

  test('saved again, it is as old as a new one', async () => {
    await opened.run("update client_logos set created_at = now() - interval '2 days'")
    await logos.save({ hash: HASH, image })
    expect(await opened.run("select 1 from client_logos where created_at > now() - interval '1 hour'")).toHaveLength(1)
  })
})

describe('clients', () => {
  const LOGO = 'a0'.repeat(32)
  const after = (milliseconds: number) => new Date(NOW.getTime() + milliseconds)
  let clients: ClientStore
  let changes: ClientChangeStore
  let client: ClientRegistration
  const secret = newHash()

  beforeAll(async () => {
    clients = createClientStore(atTime(opened.database, NOW))
    changes = changesAt(NOW)
    await opened.run("insert into client_logos values ($1, 'image', $2)", [LOGO, NOW])
  })
  beforeEach(async () => {
    client = {
      clientId: `Client_${randomUUID()}`,
      name: 'Photo “Printer”',
      type: 'confidential',
      redirectUris: ['https://app.example/callback', 'http://127.0.0.1/cb'],
      requiredScopes: ['files.read'],
      optionalScopes: ['files.read:images', 'files.read:media'],
      requiresPkce: true,
      issuesRefreshTokens: false,
      consent: 'remember',
      createdAt: NOW,
      disabled: false,
      verified: true,
      branding: {
        homePage: 'https://app.example/',
        publisher: 'Example “Prints” GmbH',
        privacyPolicy: 'https://app.example/privacy',
        terms: 'https://app.example/terms',
        logo: LOGO
      }
    }
    await changes.create(client, secret, NOTE)
  })

  const addSecret = (hash: Buffer, expiresAt: Date | null) =>
    opened.run('insert into client_secrets values ($1, $2, $3, $4)', [client.clientId, hash, NOW, expiresAt])

  const secretsAt = async (now: Date) =>
    (await createClientStore(atTime(opened.database, now)).findWithSecrets(client.clientId))?.secretHashes
  const changesAt = (now: Date) => createClientChangeStore(atTime(opened.database, now))

  describe('a client', () => {
    test('is found with all registered values', async () => {
      expect(await clients.find(client.clientId)).toEqual(client)
      expect(await clients.findWithSecrets(client.clientId)).toEqual({
        client,
        secretHashes: [secret]
      })
      expect(await clients.list()).toContainEqual(client)
    })

    test('is found with the opposite of every option', async () => {
      const opposite: ClientRegistration = {
        ...client,
        clientId: randomUUID(),
        type: 'public',
        optionalScopes: [],
        requiresPkce: false,
        issuesRefreshTokens: true,
        consent: 'ask',
        createdAt: after(1),
        verified: false,
        branding: {}
      }
      await changesAt(after(1)).create(opposite, undefined, NOTE)
      expect(await clients.findWithSecrets(opposite.clientId)).toEqual({ client: opposite, secretHashes: [] })
    })

    test.each<{ name: string; id(): string }>([
      { name: 'in upper case', id: () => client.clientId.toUpperCase() },
      { name: 'in lower case', id: () => client.clientId.toLowerCase() },
      { name: 'with a trailing space', id: () => `${client.clientId} ` },
      { name: 'without its last character', id: () => client.clientId.slice(0, -1) },
      { name: 'with a wildcard', id: () => `${client.clientId.slice(0, -1)}_` },
      { name: 'that is empty', id: () => '' }
    ])('is not found by its id $name', async ({ id }) => {
      expect(await clients.find(id())).toBeUndefined()
      expect(await clients.findWithSecrets(id())).toBeUndefined()
    })

    test('that is disabled is shown to operators and cannot authenticate', async () => {
      await opened.run('update clients set disabled_at = now() where client_id = $1', [client.clientId])
      expect(await clients.find(client.clientId)).toMatchObject({ disabled: true })
      expect(await clients.findWithSecrets(client.clientId)).toBeUndefined()
    })

    test('is listed by time of creation, then by id', async () => {
      const ids = ['b', 'a', 'c'].map((letter) => `${letter}-${randomUUID()}`)
      const [b = '', a = '', c = ''] = ids
      await changesAt(after(-1)).create({ ...client, clientId: b }, secret, NOTE)
      await changesAt(after(-1)).create({ ...client, clientId: a }, secret, NOTE)
      await changesAt(after(-2)).create({ ...client, clientId: c }, secret, NOTE)
      const listed = (await clients.list()).map(({ clientId }) => clientId)
      expect(listed.filter((id) => ids.includes(id))).toEqual([c, a, b])
      expect(listed.indexOf(client.clientId)).toBeGreaterThan(listed.indexOf(b))
    })

    test('cannot be created twice; the second attempt adds no secret', async () => {
      const again = changes.create({ ...client, name: 'Another' }, newHash(), NOTE)
      await expect(again.catch((error) => Promise.reject(isUniqueViolation(error)))).rejects.toBe(true)
      expect(await clients.find(client.clientId)).toMatchObject({ name: client.name })
      expect(await secretsAt(NOW)).toEqual([secret])
    })
  })

  describe('secrets', () => {
    test.each([
      { name: 'one millisecond before its expiry', at: 999, live: true },
      { name: 'at its expiry', at: 1_000, live: false },
      { name: 'after its expiry', at: 1_001, live: false }
    ])('with an expiry: $name', async ({ at, live }) => {
      const ending = newHash()
      await addSecret(ending, after(1_000))
      expect(await secretsAt(after(at))).toHaveLength(live ? 2 : 1)
      expect((await secretsAt(after(at)))?.some((hash) => hash.equals(ending))).toBe(live)
    })

    test('two secrets without an expiry are both live', async () => {
      const second = newHash()
      await addSecret(second, null)
      const hashes = await secretsAt(after(1e12))
      expect(hashes?.map((hash) => hash.toString('hex')).sort()).toEqual(
        [secret, second].map((hash) => hash.toString('hex')).sort()
      )
    })

    test('do not include those of another client', async () => {
      await changes.create({ ...client, clientId: randomUUID() }, newHash(), NOTE)
      expect(await secretsAt(NOW)).toEqual([secret])
    })

    test('are deleted with their client', async () => {
      await opened.run('delete from clients where client_id = $1', [client.clientId])
      const rows = await opened.run('select 1 from client_secrets where client_id = $1', [client.clientId])
      expect(rows).toEqual([])
    })
  })

  describe('clients with their secrets, for the registry', () => {
    test('all clients, including disabled ones and those without secrets; each secret with its expiry', async () => {
      const ending = newHash()
      await addSecret(ending, after(1_000))
      const open: ClientRegistration = { ...client, clientId: randomUUID(), type: 'public' }
      await changes.create(open, undefined, NOTE)
      await opened.run('update clients set disabled_at = now() where client_id = $1', [open.clientId])
      const secrets = expect.arrayContaining([
        { hash: secret, expiresAt: undefined },
        { hash: ending, expiresAt: after(1_000) }
      ])
      const all = await clients.listWithSecrets('all')
      expect(all).toContainEqual({ client, secrets })
      expect(all).toContainEqual({ client: { ...open, disabled: true }, secrets: [] })
      expect(all).toHaveLength((await clients.list()).length)
    })

    test('all may take as long as background work, because any number of users adds rows; some may not', async () => {
      const sent: Statement[] = []
      const noted = createClientStore({
        ...opened.database,
        query(statement) {
          sent.push(statement)
          return opened.database.query(statement)
        }
      })
      await noted.listWithSecrets('all')
      await noted.listWithSecrets([client.clientId])
      expect(sent.map(({ withinMs }) => withinMs)).toEqual([LONG_STATEMENT_MS, undefined])
    })

    test('selected by id; nothing for an unknown id', async () => {
      const found = await clients.listWithSecrets([client.clientId, 'unknown'])
      expect(found).toEqual([{ client, secrets: [{ hash: secret, expiresAt: undefined }] }])
      expect(await clients.listWithSecrets([])).toEqual([])
    })
  })
})

describe('secrets of clients', () => {
  const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
  let secrets: ClientSecretStore
  let changes: ClientChangeStore
  let clientId: string
  const hash = newHash()
  const key = () => clientSecretKey(clientId, secretIdOf(hash))

  beforeAll(async () => {
    const database = atTime(opened.database, NOW)
    secrets = createClientSecretStore(database)
    changes = createClientChangeStore(database)
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
      expect(found).toEqual({ ...server, titleIn: {}, createdAt: NOW, lastUsedAt: after(-5) })
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
})
